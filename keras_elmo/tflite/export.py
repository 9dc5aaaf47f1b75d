"""Models to TFLite files, for phones and small machines."""

import contextlib
import os
import pathlib
import tempfile

import keras
import tensorflow as tf

from keras_elmo.annotations import AnyPath
from keras_elmo.checks import check_choice, check_integers
from keras_elmo.files.atomic import replacing_file, tensorflow_writing
from keras_elmo.layers.projected_lstm import projecting_in_parts
from keras_elmo.models import Elmo
from keras_elmo.process.signals import check_signals
from keras_elmo.tflite import graph
from keras_elmo.tflite.metadata import describe, metadata, with_metadata

__all__ = ["INPUTS", "QUANTIZATIONS", "export_tflite", "metadata"]

INPUTS = ("character_ids", "text", "words")
QUANTIZATIONS = (None, "float16", "int8")


def export_tflite(
    model: keras.Model,
    path: AnyPath,
    inputs: str = "character_ids",
    quantize: str | None = None,
    batch: int | None = 1,
    max_tokens: int | None = None,
    overwrite: bool = False,
) -> None:
    """Writes a model as a TFLite file, of TFLite's builtin operations alone.

    `keras_elmo_lite` runs such files without TensorFlow. Other programs call the signatures of the
    file, which `metadata` describes, and which share the weights:

    - `"serving_default"`: sentences to the outputs of an `Elmo` except `"tokens"`; for text also
      `"starts"` and `"ends"`, the bytes of each token. It has one input, named as `inputs`. Outputs
      have at least one column of tokens. Texts of thousands of tokens are slow: each step copies
      the outputs of all tokens.
    - `"words"`: `character_ids`, int32, (words, ids_per_token), to `token_embeddings`, float32,
      (words, projection_dim).
    - `"steps"`: the next tokens of each sentence, in both directions, to the outputs of the LSTM
      layers. `forward` and `backward` are token embeddings, float32, (batch, tokens,
      projection_dim), each in the order in which that direction reads them; `state` is float32,
      (batch, size), zeros before `<S>` and `</S>`. `lstm_outputs1`, ... are float32, (batch,
      tokens, 2 * projection_dim), each direction in its own order; `state` is the one after them.

    The file of a `TextClassifier` or a `Tagger` has no `"serving_default"`, and one more signature:

    - `"head"`: the tokens of one text to `probabilities`, float32, (1, labels), or of a tagger (1,
      tokens, labels) and `tags`, int32, (1, tokens). `vectors` is float32, (1, tokens, D), `words`
      int32, (1, tokens), and `sequence_len` int32, (1,). There is at least one column of tokens.

    Args:
        model: an `Elmo`: float32, not stateful, without sentence boundaries in its outputs; for
            text with the whitespace tokenizer. Or a `TextClassifier` or a `Tagger` that has such an
            `Elmo`. Then `inputs`, `batch` and `max_tokens` must keep their defaults.
        path: the file to write, in an existing folder.
        inputs: what `"serving_default"` takes. `"character_ids"`: int32, (batch, tokens,
            max_characters), as `elmo.batch_to_ids` makes them (with a table of words, there is one
            more id of each token). `"text"`: uint8, (batch, bytes), UTF-8 padded at the end with
            spaces, split on whitespace, for models whose characters are bytes. An empty sentence is
            one padding token, or one space. `"words"`: there is no such signature, and the file is
            loaded in less time and memory.
        quantize: `None`: float32. `"float16"`: weights of half the size, arithmetic in float32.
            `"int8"`: weights of a quarter of the size, activations quantised as they come (dynamic
            range).
        batch: 1, or `None` for any number of sentences.
        max_tokens: int. The file has `"serving_default"` alone, for character ids of just so many
            tokens and a batch of 1, and `"mask"` is int32: for runtimes that need fixed shapes, as
            LiteRT.js in a browser. `None`: any number of tokens.
        overwrite: bool. Replace an existing file.

    Raises:
        TypeError: `model` is none of these.
        ValueError: an argument is not as said above, or the model cannot be converted.
        FileExistsError: there is such a file, and `overwrite` is `False`.
        OSError: the file cannot be written.

    Example:

    >>> export_tflite(elmo, "elmo.tflite", "text", quantize="int8")

    Reference: https://ai.google.dev/edge/litert/conversion/tensorflow/quantization
    """
    task = model if hasattr(model, "head") and hasattr(model, "labels") else None
    elmo = model if task is None else task.elmo
    if not isinstance(elmo, Elmo):
        raise TypeError(
            "The model must be an Elmo, a TextClassifier or a Tagger. "
            f"Received: {type(model).__name__}"
        )
    check_choice(INPUTS, inputs=inputs)
    check_choice(QUANTIZATIONS, quantize=quantize)
    check_choice((1, None), batch=batch)
    received = f"max_tokens={max_tokens}, inputs={inputs!r}, batch={batch}"
    if max_tokens is not None:
        check_integers(1, max_tokens=max_tokens)
        if (inputs, batch) != ("character_ids", 1):
            raise ValueError(
                "`max_tokens` must be None but for the character ids of one sentence, whose shapes "
                f"it fixes. Received: {received}"
            )
    if task is not None:
        if (inputs, batch, max_tokens) != ("character_ids", 1, None):
            raise ValueError(
                "With `inputs`, `batch` or `max_tokens` the model must be an Elmo. "
                f"Received: a {type(task).__name__}, {received}"
            )
        inputs = "words"
    graph.check(elmo, task, inputs)
    if not overwrite and os.path.isfile(path):
        raise FileExistsError(
            f"The file exists already; pass `overwrite=True` to replace it. Received: {path}"
        )
    with replacing_file(path) as temporary:
        is_int8 = quantize == "int8"
        with projecting_in_parts() if is_int8 else contextlib.nullcontext():
            functions = graph.concrete_functions(elmo, task, inputs, batch, max_tokens)
        check_signals()
        with tensorflow_writing(f"A temporary file for {os.fspath(path)}"):
            data = _convert(model, functions, quantize)
        data = with_metadata(data, describe(elmo, task, functions, quantize))
        pathlib.Path(temporary).write_bytes(data)
        check_signals()


def _convert(model, functions, quantize):
    module = tf.Module()
    module.weights = [variable.value for variable in model.variables]
    with tempfile.TemporaryDirectory() as folder:
        # A SavedModel, since only that may have several signatures. They share the weights.
        tf.saved_model.save(module, folder, functions)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, list(functions))
        converter.exclude_conversion_metadata = True  # it would write the whole file once more
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        if quantize is not None:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if quantize == "float16":
            converter.target_spec.supported_types = [tf.float16]
        return converter.convert()
