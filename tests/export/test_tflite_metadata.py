"""TFLite files say how to call them."""

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo, batch_to_ids
from keras_elmo.export import tflite
from keras_elmo.export.tflite_metadata import with_metadata

CALLS = {
    ("text", 1): np.frombuffer(b"The cat", np.uint8)[None],
    ("character_ids", None): batch_to_ids([["The", "cat"]]).numpy(),
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
    is_text = inputs == "text"
    (called,) = description["inputs"].items()
    shape = [batch, None] if is_text else [batch, None, 50]
    assert called[0] == inputs and called[1]["shape"] == shape
    assert called[1]["dtype"] == ("uint8" if is_text else "int32")
    assert description["tokenizer"] == ("whitespace" if is_text else None)
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


def test_other_operations_than_builtin_ones_are_refused():
    with pytest.raises(ValueError, match="FlexCumprod"):
        with_metadata(other_file(tf.math.cumprod), {})


def test_metadata_of_another_file(tmp_path, files):
    path = tmp_path / "file"
    for content, message in [
        (b"not a TFLite file", "begins with"),
        (files["text", 1].read_bytes()[:4000], "cannot be read"),
        (other_file(tf.nn.relu), "without the metadata"),
    ]:
        path.write_bytes(content)
        with pytest.raises(ValueError, match=message):
            tflite.metadata(path)
