"""`Elmo` to TFLite files, for phones and small machines."""

import os

import tensorflow as tf

from keras_elmo.export import tflite_graph
from keras_elmo.export.tflite_metadata import describe, metadata, with_metadata
from keras_elmo.files import replacing_file
from keras_elmo.models import Elmo
from keras_elmo.signals import check_signals

__all__ = ["INPUTS", "QUANTIZATIONS", "check_path", "export_tflite", "metadata"]

INPUTS = ("character_ids", "text")
QUANTIZATIONS = (None, "float16", "int8")


def export_tflite(elmo, path, inputs="character_ids", quantize=None, batch=1, overwrite=False):
    """Writes a model as a TFLite file, of TFLite's builtin operations alone.

    The file has one signature, `"serving_default"`, with one input, named as `inputs`, and the
    outputs of an `Elmo` except `"tokens"`; for text also `"starts"` and `"ends"`, the bytes of each
    token. Outputs have at least one column of tokens. `metadata` reads back how to call it. Files
    are for sentences, and not for texts of thousands of tokens: each step along the sentence copies
    the outputs of all tokens, so the time of each token grows with their number.

    Args:
        elmo: an `Elmo`: float32, not stateful, without sentence boundaries in its outputs; for
            text with the whitespace tokenizer.
        path: the file to write, in an existing folder.
        inputs: `"character_ids"`: int32, (batch, tokens, max_characters), as `elmo.batch_to_ids`
            makes them (with a table of words, there is one more id of each token). Or `"text"`:
            uint8, (batch, bytes), UTF-8 padded at the end with spaces, split on whitespace, for
            models whose characters are bytes. An empty sentence is one padding token, or one space.
        quantize: `None`: float32. `"float16"`: weights of half the size, arithmetic in float32.
            `"int8"`: weights of a quarter of the size, arithmetic with activations quantised as
            they come (dynamic range).
        batch: 1, or `None` for any number of sentences.
        overwrite: bool. Replace an existing file.

    Raises:
        TypeError: `elmo` is not an `Elmo`.
        ValueError: an argument is not as said above, or the model cannot be converted.
        FileExistsError: there is such a file, and `overwrite` is `False`.
        OSError: the file cannot be written.

    Example:

    >>> export_tflite(Elmo.from_pretrained("path/to/model"), "elmo.tflite", "text", quantize="int8")

    Reference: https://ai.google.dev/edge/litert/conversion/tensorflow/quantization
    """
    if not isinstance(elmo, Elmo):
        raise TypeError(f"The model must be an Elmo. Received: {type(elmo).__name__}")
    for name, value, choices in [
        ("inputs", inputs, INPUTS),
        ("quantize", quantize, QUANTIZATIONS),
        ("batch", batch, (1, None)),
        ("overwrite", overwrite, (True, False)),
    ]:
        if value not in choices:
            raise ValueError(f"`{name}` must be one of {list(choices)}. Received: {name}={value!r}")
    tflite_graph.check(elmo, inputs)
    check_path(path, overwrite)
    with replacing_file(path) as temporary:
        function = tflite_graph.concrete_function(elmo, inputs, batch)
        check_signals()
        model = with_metadata(
            _convert(elmo, function, quantize), describe(elmo, function, inputs, quantize)
        )
        with open(temporary, "wb") as file:
            file.write(model)
        check_signals()


def check_path(path, overwrite):
    """Raises a `FileExistsError` if a file exists that should not be replaced."""
    if not overwrite and os.path.isfile(path):
        raise FileExistsError(
            f"The file exists already; pass `overwrite=True` to replace it. Received: {path}"
        )


def _convert(elmo, function, quantize):
    # The module holds the variables. Without it, the file has neither weights nor a signature.
    module = tf.Module()
    module.weights = [variable.value for variable in elmo.variables]
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], module)
    converter.exclude_conversion_metadata = True  # it would write the whole file once more
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantize is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantize == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()
