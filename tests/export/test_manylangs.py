"""Files of models with a dictionary and a table of words, as ELMoForManyLangs' models have."""

import numpy as np
import pytest
import tensorflow as tf
from export.test_saved_model import OPERATIONS
from manylangs_models import SENTENCES, architecture, write_model

from keras_elmo import Elmo, export_saved_model, export_tflite
from keras_elmo.export.saved_model import operations
from keras_elmo.tflite.metadata import metadata

BATCHES = [["The cat sat . 今天", "ж", "", "<bos> catttttttttt \U0001f600 Straße"], ["x" * 60]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manylangs")
    write_model(folder, architecture({"n_layers": 1}))
    return Elmo.from_pretrained(folder)


def test_every_signature_equals_the_model(model, tmp_path, untraced):
    path = tmp_path / "elmo/1"
    export_saved_model(model, path, ops="core")
    # What finds characters and words, all of TensorFlow's core as its servers have it.
    found = {"UnicodeDecode", "UnicodeEncode", "HashTableV2", "LookupTableFindV2"}
    assert found <= operations(path) <= OPERATIONS | found | {"LookupTableImportV2"}
    signatures = tf.saved_model.load(path).signatures
    for batch in BATCHES:
        expected, words = model(batch), tf.strings.split(tf.constant(batch))
        for name in ("elmo", "word_emb", "lstm_outputs1"):
            for signature in ("default", "serving_default", name):
                result = signatures[signature](text=tf.constant(batch))[name]
                np.testing.assert_allclose(result, expected[name], atol=1e-5)
            lengths = tf.cast(words.row_lengths(), tf.int32)
            outputs = signatures["tokens"](tokens=words.to_tensor(), sequence_len=lengths)
            np.testing.assert_allclose(outputs[name], expected[name], atol=1e-5)


def test_tflite_takes_character_ids_alone(model, tmp_path):
    path = tmp_path / "model.tflite"
    with pytest.raises(ValueError, match="characters must be bytes"):
        export_tflite(model, path, "text")
    export_tflite(model, path)
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    run = interpreter.Interpreter(str(path), num_threads=1).get_signature_runner("serving_default")
    for sentence in (["The", "cat", "今天"], ["Straße", "cattttttttttttt"]):
        outputs, expected = run(character_ids=model.batch_to_ids([sentence])), model([sentence])
        for name in ("elmo", "word_emb", "default"):
            np.testing.assert_allclose(outputs[name], expected[name], atol=1e-5)
    signatures = metadata(path)["signatures"]
    described = signatures["serving_default"]["inputs"]["character_ids"]
    assert described["shape"] == [1, None, 10]
    assert signatures["words"]["inputs"]["character_ids"]["shape"] == [None, 10]
    assert "the dictionary in the options" in described["meaning"]
    assert "今" in metadata(path)["options"]["dictionary"]["characters"]
    lite = pytest.importorskip("keras_elmo_lite", reason="pip install ./lite")
    sentences = [*SENTENCES, [b"\xffcat\xc3\xff", "<eos>"], []]
    expected = model.embed(sentences, layers="all")
    for found, layers in zip(lite.Elmo(path).embed(sentences, "all"), expected, strict=True):
        np.testing.assert_allclose(found, layers, rtol=0, atol=1e-5)
