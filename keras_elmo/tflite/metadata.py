"""The metadata of a TFLite file: how to call it, as JSON; and the checksum at its end."""

import json
import pathlib
import zlib

import keras
import tensorflow as tf

from keras_elmo._version import __version__
from keras_elmo.text.tokenizers import TOKENIZERS
from keras_elmo.tflite.graph import is_tagger

METADATA_NAME = "keras_elmo"
FORMAT = 1  # of the metadata: keras_elmo_lite refuses files of a later one
_WHOLE = 0x2144DF1C  # the CRC-32 of any bytes with their own CRC-32 at the end

_MEANINGS = {
    "text": "UTF-8 bytes of each sentence, shorter ones padded at the end with spaces (32); an "
    "empty sentence is one space",
    "character_ids": "{scheme}, without sentence boundaries; padding tokens are all 0 and come "
    "last; an empty sentence is one padding token",
    "word_emb": "token embeddings",
    "default": "mean of elmo over the tokens",
    "mask": "which tokens are real",
    "sequence_len": "tokens of each sentence",
    "starts": "the byte of the sentence where each token starts",
    "ends": "the byte of the sentence after each token's last",
    "token_embeddings": "token embeddings",
    "forward": "token embeddings, as the forward direction reads them",
    "backward": "token embeddings, as the backward direction reads them",
    "state": "the state of all LSTM layers, zeros before the sentence boundaries",
    "vectors": "the outputs of the Elmo for each token that task.layers names, side by side",
    "words": "SipHash-2-4 with the key 0 of each token in lower case, modulo 32,768",
    "probabilities": "of each label, in the order of task.labels",
    "tags": "the most likely sequence of tags, indices into task.labels",
}


def metadata(path):
    """How to call the TFLite file `path`, which `export_tflite` wrote.

    Returns:
        A dict: `"signatures"` (of each its `"inputs"` and `"outputs"`, and of each of these its
        `"dtype"`, its `"shape"`, with `None` for any size, and its `"meaning"`), `"tokenizer"` (the
        name of the model's, or `None`), `"quantize"`, `"mixes"` (of each learned mix its `"name"`,
        the `"shares"` of the layers, `"gamma"` and `"do_layer_norm"`), `"options"` (the model's
        options.json), the `"format"` of this dict, and the versions of `"keras_elmo"` and
        `"tensorflow"` that wrote it. `"task"` is `None`, or of a task its `"kind"`, its `"labels"`,
        the `"layers"` that the head reads, and `"multi_label"` or `"is_of_entities"`.

    A file that `export_tflite` did not write, or that is damaged, is a `ValueError`.
    """
    from tensorflow.lite.python import schema_py_generated as schema

    data = pathlib.Path(path).read_bytes()
    rule = f"{path} must be a whole TFLite file that keras_elmo wrote. Received: a file "
    if data[4:8] != b"TFL3":
        raise ValueError(f"{rule}that begins with {data[:8]!r}")
    if zlib.crc32(data) != _WHOLE:
        raise ValueError(f"{rule}without the right checksum. Copy it again, or write it again")
    model = schema.Model.GetRootAs(data)
    entries = [model.Metadata(index) for index in range(model.MetadataLength())]
    (buffer,) = (entry.Buffer() for entry in entries if entry.Name().decode() == METADATA_NAME)
    return json.loads(bytes(model.Buffers(buffer).DataAsNumpy()))


def describe(elmo, task, functions, quantize):
    """The dict that `metadata` reads, for a new file of `concrete_functions`."""

    def tensors(named):
        return {
            name: {
                "dtype": tensor.dtype.name,
                "shape": list(tensor.shape),
                "meaning": _MEANINGS.get(name, "a layer of the biLM, or a mix of all").format(
                    scheme=elmo.token_encoder.scheme.meaning
                ),
            }
            for name, tensor in named.items()
        }

    names = {tokenizer: name for name, tokenizer in TOKENIZERS.items()}
    return {
        "format": FORMAT,
        "keras_elmo": __version__,
        "tensorflow": tf.__version__,
        "signatures": {
            name: {
                "inputs": tensors({s.name: s for s in function.structured_input_signature[0]}),
                "outputs": tensors(function.structured_outputs),
            }
            for name, function in functions.items()
        },
        "tokenizer": names.get(type(elmo.tokenizer)),
        "quantize": quantize,
        "mixes": [
            {
                "name": name,
                "shares": keras.ops.softmax(mix.scalars).numpy().tolist(),
                "gamma": float(mix.gamma),
                "do_layer_norm": mix.do_layer_norm,
            }
            for name, mix in zip(elmo.output_keys.mixes, elmo.mixes, strict=True)
        ],
        "options": elmo.config.to_options(),
        "task": None if task is None else _describe_task(task),
    }


def _describe_task(task):
    result = {"labels": task.labels, "layers": list(task.vector_names)}
    if is_tagger(task):
        return {"kind": "Tagger", "is_of_entities": task.is_of_entities, **result}
    return {"kind": "TextClassifier", "multi_label": task.multi_label, **result}


def with_metadata(data, description):
    """The bytes of a TFLite file with its description inside, and its CRC-32 at the end."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model = schema.ModelT.InitFromPackedBuf(data)
    if custom := [code.customCode for code in model.operatorCodes if code.customCode]:
        names = ", ".join(sorted(name.decode() for name in custom))
        raise ValueError(f"The file must hold builtin operations alone. Received: {names}")
    model.description = f"keras_elmo: contextual vectors; see metadata {METADATA_NAME!r}"
    buffer = schema.BufferT()
    buffer.data = list(json.dumps(description).encode())
    model.buffers.append(buffer)
    entry = schema.MetadataT()
    entry.name, entry.buffer = METADATA_NAME, len(model.buffers) - 1
    model.metadata = [*(model.metadata or []), entry]
    builder = flatbuffers.Builder(len(data) + (1 << 16))
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    result = bytes(builder.Output())
    return result + zlib.crc32(result).to_bytes(4, "little")
