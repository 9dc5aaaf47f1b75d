"""TFLite files equal the model they were made from.

tests/lite has their signatures "words", "steps" and "head", also without TensorFlow.
"""

import os
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo, ElmoConfig, Tagger, batch_to_ids
from keras_elmo.tflite import export as tflite
from keras_elmo.tflite import graph as tflite_graph
from keras_elmo.tflite.metadata import with_metadata

SENTENCES = [
    "The cat sat .",
    "naïve Zoë caffè",
    "猫 が いる 😀 👩\u200d🚀",
    "",
    "  two  spaces\tand a tab ",
    "no\u00a0break\u3000wide\u2003em\u2028line\x85next\u1680ogham\u205fmath",
    "x" * 47 + " " + "y" * 48 + " " + "z" * 49 + " " + "é" * 60,
    "word",
    "a\x00b",
    " ".join(f"w{number % 30}" for number in range(200)),
]
# How a file is called, and its model: each input, batch and model in one file.
CALLS = [("text", None, "normalized"), ("character_ids", 1, "two layers")]


@pytest.fixture(scope="module")
def models(small_folder):
    """A model of two layers; and one of a layer, with two normalized mixes and no projections."""
    sizes = {"units": 8, "projection_dim": 8, "num_layers": 1, "num_highway": 0}
    config = ElmoConfig(filters=[(1, 4), (2, 4)], **sizes)
    mixes = {"do_layer_norm": True, "num_mixes": 2, "initial_scalars": [0.1, 0.7]}
    return {
        "two layers": Elmo.from_pretrained(small_folder, initial_scalars=[0.3, -0.5, 0.8]),
        "normalized": Elmo(config, **mixes),
    }


@pytest.fixture(scope="module")
def files(models, tmp_path_factory):
    """The float32 file of each of the calls."""
    folder = tmp_path_factory.mktemp("tflite")
    for inputs, batch, name in CALLS:
        tflite.export_tflite(models[name], folder / f"{inputs}.tflite", inputs, batch=batch)
    return {call: folder / f"{call[0]}.tflite" for call in CALLS}


def runner(path, signature="serving_default"):
    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    return interpreter.Interpreter(str(path), num_threads=1).get_signature_runner(signature)


def fed(inputs, sentences):
    """Sentences as a file takes them."""
    if inputs == "text":
        texts = [sentence.encode() for sentence in sentences]
        width = max(1, *map(len, texts))
        data = [np.frombuffer(text.ljust(width), np.uint8) for text in texts]
        return {inputs: np.stack(data)}
    ids = batch_to_ids([sentence.split() for sentence in sentences]).numpy()
    return {inputs: np.pad(ids, [(0, 0), (0, max(0, 1 - ids.shape[1])), (0, 0)])}


def assert_equal(outputs, model, sentences):
    expected = model(sentences)
    names = set(outputs) - {"starts", "ends"}
    assert names == set(expected) - {"tokens"}
    for name in names:
        value = expected[name].numpy()
        if name not in ("default", "sequence_len") and value.shape[1] == 0:
            value = np.pad(value, [(0, 0), (0, 1), (0, 0)][: value.ndim])  # one column at least
        assert outputs[name].dtype == value.dtype
        np.testing.assert_allclose(outputs[name], value, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("call", CALLS)
def test_float32_equals_the_model(files, models, call):
    inputs, batch, name = call
    run, model = runner(files[call]), models[name]
    for sentence in SENTENCES:
        outputs = run(**fed(inputs, [sentence]))
        assert_equal(outputs, model, [sentence])
        if inputs == "text":  # the bytes of the tokens
            starts, ends = (outputs[name][outputs["mask"]] for name in ("starts", "ends"))
            spans = zip(starts, ends, strict=True)
            assert [sentence.encode()[i:k].decode() for i, k in spans] == sentence.split()
    assert np.abs(outputs["lstm_outputs1"]).max() > 0.01
    if batch is None:
        assert_equal(run(**fed(inputs, SENTENCES)), model, SENTENCES)
        assert_equal(run(**fed(inputs, ["", " "])), model, ["", " "])


@pytest.mark.parametrize(
    "quantize, share, least, mean",
    # int8 takes a quarter of float32; the rest is the signatures' graphs.
    [
        ("int8", 0.28, 0.998, 0.9997),  # a mean of 0.99947 without `projecting_in_parts`
        pytest.param("float16", 0.51, 0.99999, 0.99999, marks=pytest.mark.slow),
    ],
)
def test_quantised_files_are_small_and_near_on_every_token_of_real_text(
    tmp_path, shared, quantize, share, least, mean
):
    lite = pytest.importorskip("keras_elmo_lite", reason="pip install ./lite")
    lines = (shared / "bench/sentences-512.txt").read_text("utf-8").splitlines()[::16]
    elmo = Elmo.from_pretrained("tiny")
    tflite.export_tflite(elmo, tmp_path / "model.tflite", "words", quantize)
    num_bytes = 4 * sum(elmo.config.num_parameters().values())
    assert os.path.getsize(tmp_path / "model.tflite") < share * num_bytes
    layers = ["elmo", "word_emb", "lstm_outputs1", "lstm_outputs2"]
    found = lite.Elmo(tmp_path / "model.tflite").embed(lines, layers)
    expected = elmo.embed(lines, layers)
    for name in layers:
        one, other = (np.concatenate([row[name] for row in rows]) for rows in (found, expected))
        norms = np.linalg.norm(one, axis=-1) * np.linalg.norm(other, axis=-1)
        cosine = np.sum(one * other, -1) / norms
        assert cosine.min() > least, name
        assert cosine.mean() > mean, name
        assert quantize == "float16" or cosine.min() < 0.999999, f"{name} is not quantised"
    assert tflite.metadata(tmp_path / "model.tflite")["quantize"] == quantize


@pytest.mark.parametrize("call", CALLS)
def test_metadata_says_how_to_call_a_file(files, models, call):
    (inputs, batch, name), path = call, files[call]
    description, config = tflite.metadata(path), models[name].config
    assert list(description["signatures"]) == ["serving_default", "words", "steps"]
    assert description["format"] == 1 and description["tokenizer"] == "whitespace"
    assert description["quantize"] is None
    assert description["options"] == config.to_options()
    for mix, expected in zip(description["mixes"], models[name].mixes, strict=True):
        assert (mix["gamma"], mix["do_layer_norm"]) == (1.0, name == "normalized")
        shares = np.exp(expected.initial_scalars) / np.sum(np.exp(expected.initial_scalars))
        np.testing.assert_allclose(mix["shares"], shares, rtol=1e-4)
    names = [mix["name"] for mix in description["mixes"]]
    assert names == (["elmo", "elmo_2"] if name == "normalized" else ["elmo"])
    ((named, said),) = description["signatures"]["serving_default"]["inputs"].items()
    assert named == inputs and said["dtype"] == ("uint8" if inputs == "text" else "int32")
    assert said["shape"] == ([batch, None] if inputs == "text" else [batch, None, 50])
    size = config.num_layers * 2 * (config.units + config.projection_dim)
    stream = np.zeros((1, 2, config.projection_dim), np.float32)
    calls = {
        "serving_default": fed(inputs, ["The cat"]),
        "words": {"character_ids": np.ones((3, 50), np.int32)},
        "steps": {"forward": stream, "backward": stream, "state": np.zeros((1, size), np.float32)},
    }
    for signature, arguments in calls.items():
        said = description["signatures"][signature]
        outputs = runner(path, signature)(**arguments)
        for named, values in [(said["inputs"], arguments), (said["outputs"], outputs)]:
            assert set(named) == set(values)
            for name, value in values.items():
                assert named[name]["dtype"] == value.dtype.name and named[name]["meaning"]
                for size, found in zip(named[name]["shape"], value.shape, strict=True):
                    assert size in (None, found)


def test_fixed_shapes(one_layer_folder, tmp_path):
    model, path = Elmo.from_pretrained(one_layer_folder), tmp_path / "model.tflite"
    tflite.export_tflite(model, path, max_tokens=9)
    (signature,) = tflite.metadata(path)["signatures"].values()
    tensors = [*signature["inputs"].values(), *signature["outputs"].values()]
    assert all(None not in tensor["shape"] for tensor in tensors)
    interpreter = pytest.importorskip("ai_edge_litert.interpreter").Interpreter(str(path))
    for tensor in [*interpreter.get_input_details(), *interpreter.get_output_details()]:
        assert tensor["shape"].tolist() == tensor["shape_signature"].tolist()
    run = interpreter.get_signature_runner()
    for sentence in (SENTENCES[0], SENTENCES[1], "", "a b c d e f g h i"):
        ids = np.zeros((1, 9, 50), np.int32)
        given = fed("character_ids", [sentence])["character_ids"]
        ids[:, : given.shape[1]] = given
        outputs, expected = run(character_ids=ids), model([sentence])
        count = len(sentence.split())
        assert outputs["mask"].dtype == np.int32
        assert outputs["mask"][0].tolist() == [1] * count + [0] * (9 - count)
        for name in ("word_emb", "lstm_outputs1", "elmo"):
            wanted = expected[name][0, :count]
            np.testing.assert_allclose(outputs[name][0, :count], wanted, atol=1e-5)
            assert not outputs[name][0, count:].any()
        np.testing.assert_allclose(outputs["default"], expected["default"], atol=1e-5)


def other_file(operation):
    """The bytes of a TFLite file of one operation."""
    signature = [tf.TensorSpec([None], tf.float32)]
    function = tf.function(operation, input_signature=signature).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], tf.Module())
    sets = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter.target_spec.supported_ops = sets
    return converter.convert()


def test_other_files_and_operations_are_refused(tmp_path):
    """(tests/lite/test_elmo.py has damaged files.)"""
    with pytest.raises(ValueError, match="FlexCumprod"):
        with_metadata(other_file(tf.math.cumprod), {})
    (tmp_path / "file").write_bytes(b"not a TFLite file")
    with pytest.raises(ValueError, match="begins with"):
        tflite.metadata(tmp_path / "file")


def task(kind, **kwargs):
    """Makes a function of a config to a task, with arguments of its `Elmo`."""
    return lambda config: kind(Elmo(config, **kwargs), ["a", "b"], word_dim=0)


@pytest.mark.parametrize(
    "model, kwargs, message",
    [
        (lambda _: keras.Sequential(), {}, "an Elmo, a TextClassifier or a Tagger.*Sequential"),
        (Elmo, {"inputs": "tokens"}, "`inputs`"),
        (Elmo, {"quantize": "int4"}, "`quantize`"),
        (Elmo, {"batch": 2}, "`batch`"),
        (Elmo, {"max_tokens": 0}, "`max_tokens`"),
        (Elmo, {"max_tokens": 9, "inputs": "text"}, "`max_tokens`"),
        ({"matmul_dtype": "bfloat16"}, {"inputs": "text"}, "matmul_dtype bfloat16"),
        ({"keep_sentence_boundaries": True}, {"inputs": "text"}, "keep_sentence_boundaries=True"),
        ({"max_tokens": 9}, {"inputs": "text"}, "max_tokens=9"),
        ({"tokenizer": "treebank"}, {"inputs": "text"}, "TreebankTokenizer"),
        ({"dtype": "float16", "stateful": True}, {}, "stateful=True; .*dtype float16"),
        (task(Tagger), {"max_tokens": 9}, "must be an Elmo. Received: a Tagger"),
        (task(Tagger, dtype="mixed_bfloat16"), {}, "cannot become .*dtype bfloat16"),
    ],
)
def test_what_cannot_be_converted_is_refused(small_config, tmp_path, model, kwargs, message):
    model = Elmo(small_config, **model) if isinstance(model, dict) else model(small_config)
    with pytest.raises((TypeError, ValueError), match=message):
        tflite.export_tflite(model, tmp_path / "model.tflite", **kwargs)
    assert os.listdir(tmp_path) == []


def test_the_head_of_a_tagger_has_no_operation_of_cudnn(small_config, monkeypatch):
    """Keras takes them on a machine with a GPU."""
    task = Tagger(Elmo(small_config), list("ab"), crf=False, word_dim=0)
    rnn = sys.modules["keras.src.backend.tensorflow.rnn"]
    monkeypatch.setattr(rnn, "_is_gpu_available", lambda: True)
    features = {
        name: tf.TensorSpec([1, *tensor.shape[1:]], tensor.dtype, name)
        for name, tensor in task.head.input.items()
    }
    on_gpu = tf.function(task.head).get_concrete_function(features)
    in_file = tflite_graph.concrete_functions(task.elmo, task, "words", 1, None)["head"]
    on_gpu, in_file = (
        " ".join(operation.type for operation in function.graph.get_operations())
        for function in (on_gpu, in_file)
    )
    assert "CudnnRNNV3" in on_gpu and "Cudnn" not in in_file


def test_an_existing_file_is_replaced_only_when_told(models, tmp_path, monkeypatch):
    path, model = tmp_path / "model.tflite", models["two layers"]
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match="model.tflite"):
        tflite.export_tflite(model, path, "words")
    monkeypatch.setattr(tflite, "_convert", lambda *_: other_file(tf.nn.relu))
    tflite.export_tflite(model, path, "words", overwrite=True)
    assert list(tflite.metadata(path)["signatures"]) == ["words", "steps"]
    assert os.listdir(tmp_path) == ["model.tflite"]
