"""`Elmo` to TFLite files, for phones and small machines."""

import json
import os

import tensorflow as tf

from keras_elmo._version import __version__
from keras_elmo.export import tflite_graph
from keras_elmo.files import replacing_file
from keras_elmo.models import Elmo

INPUTS = ("character_ids", "text")
QUANTIZATIONS = (None, "float16", "int8")
METADATA_NAME = "keras_elmo"
SIGNATURE = "serving_default"

_MEANINGS = {
    "text": "UTF-8 bytes of each sentence, shorter ones padded at the end with spaces (32); an "
    "empty sentence is one space",
    "character_ids": "the ids of keras_elmo.characters, without sentence boundaries; padding "
    "tokens are all 0 and come last; an empty sentence is one padding token",
    "word_emb": "token embeddings",
    "default": "mean of elmo over the tokens",
    "mask": "which tokens are real",
    "sequence_len": "tokens of each sentence",
    "starts": "the byte of the sentence where each token starts",
    "ends": "the byte of the sentence after each token's last",
}


def export_tflite(elmo, path, inputs="character_ids", quantize=None, batch=1, overwrite=False):
    """Writes a model as a TFLite file, of TFLite's builtin operations alone.

    The file has one signature, `"serving_default"`, with one input, named as `inputs`, and the
    outputs of an `Elmo` but `"tokens"`; for text also `"starts"` and `"ends"`, the bytes of each
    token. Outputs have one column of tokens at least. `metadata` reads back how to call it. Files
    are for sentences: each step copies the outputs of all, so the time of a token grows with their
    number (of thousands).

    Args:
        elmo: an `Elmo`: float32, not stateful, without sentence boundaries in its outputs; for
            text with the whitespace tokenizer.
        path: the file to write, in an existing folder.
        inputs: `"character_ids"`: int32, (batch, tokens, max_characters). Or `"text"`: uint8,
            (batch, bytes), UTF-8 padded at the end with spaces, split on whitespace. An empty
            sentence is one padding token, or one space.
        quantize: `None`: float32. `"float16"`: weights of half the size, arithmetic in float32.
            `"int8"`: weights of a quarter of the size, arithmetic with activations quantised as
            they come (dynamic range).
        batch: 1, or `None` for any number of sentences.
        overwrite: bool. Replace an existing file.

    Raises:
        TypeError: `elmo` is no `Elmo`.
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
        model = _with_metadata(
            _convert(elmo, function, quantize), _description(elmo, function, inputs, quantize)
        )
        with open(temporary, "wb") as file:
            file.write(model)


def check_path(path, overwrite):
    """Raises a `FileExistsError` where a file would be replaced that must not be."""
    if not overwrite and os.path.isfile(path):
        raise FileExistsError(
            f"The file exists already; pass `overwrite=True` to replace it. Received: {path}"
        )


def metadata(path):
    """How to call a TFLite file that `export_tflite` wrote.

    Args:
        path: of the file.

    Returns:
        A dict: `"signature"`, `"inputs"` and `"outputs"` (of each its `"dtype"`, its `"shape"`,
        `None` where any size will do, and its `"meaning"`), `"tokenizer"`, `"quantize"`,
        `"options"` (the model's options.json), and the versions of `"keras_elmo"` and
        `"tensorflow"` that wrote it.

    Raises:
        ValueError: the file is no TFLite file, or `export_tflite` did not write it.
        OSError: it cannot be opened.
    """
    with open(path, "rb") as file:
        data = file.read()
    rule = f"{path} must be a whole TFLite file that keras_elmo wrote. "
    if data[4:8] != b"TFL3":
        raise ValueError(f"{rule}Received: a file that begins with {data[:8]!r}")
    try:
        model = _schema().Model.GetRootAs(data)
        entries = [model.Metadata(index) for index in range(model.MetadataLength())]
        buffers = {entry.Name().decode(): entry.Buffer() for entry in entries}
        if METADATA_NAME in buffers:
            return json.loads(bytes(model.Buffers(buffers[METADATA_NAME]).DataAsNumpy()))
    except Exception as error:  # flatbuffers has no errors of its own for a file cut short
        raise ValueError(f"{rule}It cannot be read: {error}") from None
    raise ValueError(f"{rule}Received: a file without the metadata {METADATA_NAME!r}")


def _convert(elmo, function, quantize):
    # Without what holds the variables, the converter makes a file without weights, or signature.
    module = tf.Module()
    module.weights = [variable.value for variable in elmo.variables]
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function], module)
    converter.exclude_conversion_metadata = True  # writes the whole file once more
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantize is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantize == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()


def _description(elmo, function, inputs, quantize):
    def tensors(named):
        return {
            name: {
                "dtype": tensor.dtype.name,
                "shape": list(tensor.shape),
                "meaning": _MEANINGS.get(name, "a layer of the biLM, or a mix of all"),
            }
            for name, tensor in named.items()
        }

    return {
        "keras_elmo": __version__,
        "tensorflow": tf.__version__,
        "signature": SIGNATURE,
        "inputs": tensors({inputs: function.inputs[0]}),
        "outputs": tensors(function.structured_outputs),
        "tokenizer": "whitespace" if inputs == "text" else None,
        "quantize": quantize,
        "options": elmo.config.to_options(),
    }


def _with_metadata(data, description):
    """A TFLite file with its description inside; checks its operations on the way."""
    import flatbuffers

    schema = _schema()
    model = schema.ModelT.InitFromPackedBuf(data)
    custom = [code.customCode for code in model.operatorCodes if code.customCode]
    if custom:
        names = ", ".join(sorted(name.decode() for name in custom))
        raise ValueError(f"The file must hold builtin operations alone. Received: {names}")
    (name,) = description["inputs"]
    model.description = f"keras_elmo: {name} to contextual vectors; see metadata {METADATA_NAME!r}"
    buffer = schema.BufferT()
    buffer.data = list(json.dumps(description).encode())
    model.buffers.append(buffer)
    entry = schema.MetadataT()
    entry.name, entry.buffer = METADATA_NAME, len(model.buffers) - 1
    model.metadata = [*(model.metadata or []), entry]
    builder = flatbuffers.Builder(len(data) + (1 << 16))
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return builder.Output()


def _schema():
    from tensorflow.lite.python import schema_py_generated

    return schema_py_generated
