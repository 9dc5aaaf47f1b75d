"""TFLite files say how to call them."""

import os

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo, characters
from keras_elmo.export import tflite

WORDS = ["The", "cat"]
CALLS = {
    ("text", 1): np.frombuffer(b"The cat", np.uint8)[None],
    ("character_ids", None): np.array([[characters.word_to_ids(w) for w in WORDS]], np.int32),
}


@pytest.fixture(scope="module")
def model(one_layer_folder):
    return Elmo.from_pretrained(one_layer_folder)


@pytest.fixture(scope="module")
def files(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tflite")
    paths = {(inputs, batch): folder / f"{inputs}.tflite" for inputs, batch in CALLS}
    for (inputs, batch), path in paths.items():
        tflite.export_tflite(model, path, inputs, batch=batch)
    return paths


@pytest.mark.parametrize("inputs, batch", CALLS)
def test_metadata_says_how_to_call_it(files, model, inputs, batch):
    description = tflite.metadata(files[inputs, batch])
    (name,) = description["inputs"]
    assert name == inputs
    shape = [batch, None] if inputs == "text" else [batch, None, 50]
    dtype = "uint8" if inputs == "text" else "int32"
    assert description["inputs"][name]["shape"] == shape
    assert description["inputs"][name]["dtype"] == dtype
    assert description["tokenizer"] == ("whitespace" if inputs == "text" else None)
    assert description["quantize"] is None
    assert description["options"] == model.config.to_options()
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    run = interpreter.Interpreter(str(files[inputs, batch])).get_signature_runner()
    outputs = run(**{inputs: CALLS[inputs, batch]})
    assert set(description["outputs"]) == set(outputs)
    for name, value in outputs.items():
        said = description["outputs"][name]
        assert said["dtype"] == value.dtype.name and said["meaning"]
        assert len(said["shape"]) == value.ndim
        assert all(a in (None, b) for a, b in zip(said["shape"], value.shape, strict=True))


def other_file(operation):
    """The bytes of a TFLite file of one operation."""
    signature = [tf.TensorSpec([None], tf.float32)]
    function = tf.function(operation, input_signature=signature).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], tf.Module())
    sets = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter.target_spec.supported_ops = sets
    return converter.convert()


def test_other_operations_than_builtin_ones_are_refused(model, tmp_path, monkeypatch):
    data = other_file(tf.math.cumprod)
    monkeypatch.setattr(tflite, "_convert", lambda *_: data)
    with pytest.raises(ValueError, match="builtin operations alone. Received: FlexCumprod"):
        tflite.export_tflite(model, tmp_path / "model.tflite")
    assert os.listdir(tmp_path) == []


def test_metadata_of_another_file(tmp_path, files):
    (tmp_path / "text").write_bytes(b"no TFLite file")
    with pytest.raises(ValueError, match="Received: a file that begins with b'no TFLit'"):
        tflite.metadata(tmp_path / "text")
    (tmp_path / "cut").write_bytes(files["text", 1].read_bytes()[:4000])
    with pytest.raises(ValueError, match="must be a whole TFLite file"):
        tflite.metadata(tmp_path / "cut")
    (tmp_path / "other").write_bytes(other_file(tf.nn.relu))
    with pytest.raises(ValueError, match="Received: a file without the metadata 'keras_elmo'"):
        tflite.metadata(tmp_path / "other")
