"""Writes a model as a SavedModel, with the signatures of the TF Hub module and more."""

import contextlib
import os
import pathlib
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_elmo import text
from keras_elmo.annotations import AnyPath, Sentence
from keras_elmo.checks import check_choice, check_counts
from keras_elmo.export import serving, signatures
from keras_elmo.export.exported_module import ExportedModule
from keras_elmo.files.atomic import replacing_folder, tensorflow_writing
from keras_elmo.models import Elmo
from keras_elmo.process.signals import check_signals
from keras_elmo.text.whitespace_tokenizer import OPS

STORAGE = ("float32", "bfloat16", "float16")


def export_saved_model(
    model: keras.Model,
    path: AnyPath,
    tokenizer: Any = None,
    ops: str = "tensorflow-text",
    storage: str | None = None,
    pooled_only: bool = False,
    max_tokens: int | None = None,
    warmup_texts: Sequence[Sentence] | None = None,
    max_batch_size: int | None = None,
    overwrite: bool = False,
) -> None:
    """Writes an `Elmo`, or a Keras model that holds one, as a SavedModel.

    TensorFlow Serving, `tf.saved_model.load` and the TensorFlow C library run it without Python.
    The folder appears when it is complete. The model can be used meanwhile.

    The signatures of an `Elmo` take `text`, string (batch,):

    - `default` and `serving_default` return the outputs of a call (see `Elmo`);
    - `elmo`, `word_emb`, `lstm_outputs1`, ... return the output of that name and `sequence_len`;
    - `tokens` takes `tokens`, string (batch, tokens), and `sequence_len`, int32 (batch,), and
      returns all outputs.

    Another model has `serving_default` alone, from `text` to its outputs: by their names if they
    are a dict, or `output_0`, `output_1`, ...

    The loaded model can also be called as TF Hub's modules are: `module(texts)` gives the output
    `default` (of a `TextClassifier` `probabilities`, of a `Tagger` `tags`, of another model its
    first one), and `module(texts, signature="elmo", as_dict=True)`
    all outputs of a signature. The signature `tokens` takes a dict of its two inputs.

    A model of tokens (an `Elmo` with `tokenizer=None`, or a Keras model whose input has a token
    axis, padded or ragged) takes `tokens`, string (batch, tokens), padded at the end with `""`,
    instead of `text`. Its outputs are as wide as that.

    A Keras model of several inputs, of strings or numbers, takes each by its key in the model's
    dict of inputs, or by the name of its `keras.Input`. Strings with a token axis are padded
    tokens. If there are also raw strings, an `Elmo` without a tokenizer reads the tokens.

    Args:
        model: a stateless `Elmo`, or a Keras model that holds one. A subclassed model can have only
            one input: raw strings, or tokens if its `Elmo` has no tokenizer. For others export
            `keras.Model(inputs, model(inputs))`.
        path: folder to write. TensorFlow Serving looks for a number, as in `elmo/1`.
        tokenizer: what `Elmo` takes, instead of the model's own. With one, an `Elmo` of tokens
            takes `text` too.
        ops: `"tensorflow-text"`, or `"core"` for a graph that loads with TensorFlow alone.
        storage: `"float32"`, `"bfloat16"` or `"float16"`, in which larger weights are stored. They
            are cast back when the model is loaded. `None`: as the model has them.
        pooled_only: bool. An `Elmo` gets only the signature `default`, also as `serving_default`,
            which returns only `default` and `sequence_len`.
        max_tokens: int, or `None`. A longer sentence is refused with an error that says so.
        warmup_texts: list of strings (of lists of tokens, for a model of tokens), or `None`. A
            request that TensorFlow Serving runs when it loads the model (needs
            tensorflow-serving-api). Not for a model of several inputs.
        max_batch_size: int, or `None`. Rows of a batch that TensorFlow Serving makes of requests:
            written as `batching_params.pbtxt`.
        overwrite: bool. Replace an existing folder.

    Raises:
        ValueError: an argument is out of range, or the model is stateful, or is made of operations
            that other programs do not have.
        FileExistsError: `path` exists, and `overwrite` is `False`.
        OSError: the folder cannot be written.

    Example:

    >>> export_saved_model(elmo, "elmo/1", storage="float16")

    Reference: TF Hub's `google/elmo/3`.
    """
    path = os.path.abspath(os.fspath(path))
    check_arguments(path, ops, storage, max_tokens, max_batch_size, overwrite)
    elmos = [layer for layer in model._flatten_layers() if isinstance(layer, Elmo)]
    if not elmos:
        raise ValueError(
            "The model must be an `Elmo`, or a Keras model with an `ElmoEmbedding`. "
            f"Received: {type(model).__name__} without one"
        )
    if pooled_only and not isinstance(model, Elmo):
        raise ValueError("With `pooled_only` the model must be an `Elmo`. Received: another model")
    takes_tokens = tokenizer is None and all(elmo.tokenizer is None for elmo in elmos)
    inputs = signatures.input_specs(model, takes_tokens)
    are_tokens = [signatures.has_token_axis(x) for x in inputs if x.dtype == tf.string]
    takes_only_tokens = takes_tokens or all(are_tokens)
    if takes_only_tokens and tokenizer is not None:
        raise ValueError(
            "With `tokenizer` the model must take raw strings. Received: a model of tokens"
        )
    if warmup_texts is not None:
        if len(inputs) > 1:
            raise ValueError("With `warmup_texts` the model must have one input. Received: several")
        warmup_inputs = serving.warmup_inputs(warmup_texts, takes_only_tokens)
    with contextlib.ExitStack() as stack:
        stack.enter_context(signatures.without_cudnn(model))
        for elmo in elmos:
            is_of_tokens = takes_only_tokens or (any(are_tokens) and elmo.tokenizer is None)
            stack.enter_context(
                elmo.exporting(_tokenizer(elmo, tokenizer, ops, is_of_tokens), max_tokens)
            )
        module = ExportedModule(model, storage)
        module.tables = [table for e in elmos for table in e.token_encoder.scheme.tables]
        if isinstance(model, Elmo):
            functions = signatures.elmo_signatures(model, inputs, pooled_only)
        elif hasattr(model, "serving_signatures"):
            functions = model.serving_signatures()
        else:
            functions = {"serving_default": (signatures.calling(model), inputs)}
        # Two names of one function have one trace.
        made = {call: module.function(call, specs) for call, specs in functions.values()}
        traced = {}
        for name, (function, _) in functions.items():
            # Traced here, where the models have the tokenizers of the export.
            traced[name] = made[function].get_concrete_function()
            check_signals()
    specs = {name: specs for name, (_, specs) in functions.items()}
    module.make_callable(traced, specs, getattr(model, "main_output", "default"))
    with replacing_folder(path, overwrite) as temporary:
        with tensorflow_writing(path):
            tf.saved_model.save(module, temporary, signatures=traced)
            if warmup_texts is not None:
                serving.write_warmup(temporary, warmup_inputs)
        _check_operations(operations(temporary), ops)
        if max_batch_size is not None:
            serving.write_batching(temporary, max_batch_size)
        check_signals()


def check_arguments(path, ops, storage, max_tokens, max_batch_size, overwrite):
    """Raises an error if an argument of `export_saved_model` is wrong, whatever the model is."""
    check_choice(OPS, ops=ops)
    check_choice((None, *STORAGE), storage=storage)
    check_counts(max_tokens=max_tokens, max_batch_size=max_batch_size)
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            f"{path} exists already; export to another folder (TensorFlow Serving takes the "
            "highest number), or pass `overwrite=True`"
        )


def _tokenizer(elmo, tokenizer, ops, is_of_tokens):
    """The tokenizer with which an `Elmo` is exported."""
    if elmo.stateful:
        raise ValueError(
            "The model must be stateless: a server's requests have no order. "
            "Received: an Elmo with stateful=True"
        )
    tokenizer = None if is_of_tokens else text.get_tokenizer(tokenizer) or elmo.tokenizer
    if isinstance(tokenizer, text.WhitespaceTokenizer) and tokenizer.ops != ops:
        tokenizer = type(tokenizer)(ops=ops)
    return tokenizer


def operations(path):
    """The names of all operations of a SavedModel and of its functions, a set of strings."""
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    data = pathlib.Path(path, "saved_model.pb").read_bytes()
    graph = SavedModel.FromString(data).meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    return {node.op for node in nodes} - {f.signature.name for f in graph.library.function}


def _check_operations(names, ops):
    """Raises a `ValueError` if operations need Python, or more than `ops` promises."""
    if python := sorted(name for name in names if "PyFunc" in name):
        raise ValueError(
            "The exported graph must hold no Python; a tokenizer or layer must be made of "
            f"TensorFlow's operations. Received: {python}"
        )
    added = tensorflow_text_operations(names)
    if ops == "core" and added:
        raise ValueError(
            'With `ops="core"` the tokenizer must be made of TensorFlow\'s own operations. '
            f"Received: {added}"
        )


def tensorflow_text_operations(names):
    """Those of some operations that a program in Python has only after `import tensorflow_text`."""
    return sorted(name for name in names if name.startswith(("TFText", "RegexSplit")))
