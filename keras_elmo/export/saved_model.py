"""Writes a model as a SavedModel, with the signatures of the TF Hub module and more."""

import contextlib
import os

import keras
import tensorflow as tf

from keras_elmo import text
from keras_elmo.checks import check_integers
from keras_elmo.export import serving
from keras_elmo.files import replacing_folder
from keras_elmo.models import Elmo

STORAGE = ("float32", "bfloat16", "float16")


def export_saved_model(
    model,
    path,
    tokenizer=None,
    ops="tensorflow-text",
    storage=None,
    pooled_only=False,
    max_tokens=None,
    warmup_texts=None,
    max_batch_size=None,
    overwrite=False,
):
    """Writes an `Elmo`, or a Keras model that holds one, as a SavedModel.

    Weights are stored once. The graph takes strings and holds no Python; TensorFlow Serving,
    `tf.saved_model.load` and the TensorFlow C library run it. The folder is written beside its
    place and moved there when it is whole.

    The signatures of an `Elmo` take `text`, string (batch,):

    - `default` and `serving_default` return the outputs of a call (see `Elmo`);
    - `elmo`, `word_emb`, `lstm_outputs1`, ... return the output of that name and `sequence_len`;
    - `tokens` takes `tokens`, string (batch, tokens), and `sequence_len`, int32 (batch,), and
      returns all outputs.

    Another model has `serving_default` alone, from `text` to its outputs: by their names where
    they are a dict, else `output_0`, `output_1`, ...

    A model of tokens (an `Elmo` with `tokenizer=None`, or a Keras model whose input has a token
    axis, padded or ragged) takes `tokens`, string (batch, tokens), padded at the end with `""`,
    where the others take `text`; its outputs are as wide as that.

    Args:
        model: a stateless `Elmo`, or a Keras model whose one input is strings, (batch,) or
            (batch, tokens).
        path: folder to write. TensorFlow Serving looks for a number, as in `elmo/1`.
        tokenizer: what `Elmo` takes, in the place of the model's own. `None`: its own. With one, an
            `Elmo` of tokens takes `text` too.
        ops: `"tensorflow-text"`, or `"core"` for a graph that loads with TensorFlow alone.
        storage: `"float32"`, `"bfloat16"` or `"float16"`: dtype of the stored weights; halves are
            made float32 again when the model is loaded. `None`: as the model has them.
        pooled_only: bool. Of an `Elmo`, only `default` and `serving_default`, and of their outputs
            only `default` and `sequence_len`.
        max_tokens: int, or `None`. A longer sentence is refused with an error that says so.
        warmup_texts: list of strings (of lists of tokens, for a model of tokens), or `None`. A
            request that TensorFlow Serving runs when it loads the model (needs
            tensorflow-serving-api).
        max_batch_size: int, or `None`. Rows of a batch that TensorFlow Serving makes of requests:
            written as `batching_params.pbtxt`.
        overwrite: bool. Replace an existing folder.

    Raises:
        ValueError: an argument is out of range, or the model is stateful, or is made of operations
            that other programs do not have.
        FileExistsError: `path` exists, and `overwrite` is `False`.

    Reference: TF Hub's `google/elmo/3`.
    """
    path = os.path.abspath(os.fspath(path))
    _check(path, ops, storage, max_tokens, max_batch_size, overwrite)
    elmos = [layer for layer in model._flatten_layers() if isinstance(layer, Elmo)]
    if not elmos:
        raise ValueError(
            "The model must be an `Elmo`, or a Keras model with an `ElmoEmbedding`. "
            f"Received: {type(model).__name__} without one"
        )
    if pooled_only and not isinstance(model, Elmo):
        raise ValueError("`pooled_only` is for an `Elmo`. Received: another model")
    takes_tokens = _takes_tokens(model, elmos, tokenizer)
    if warmup_texts is not None:
        warmup_texts = serving.check_warmup(warmup_texts, takes_tokens)
    with contextlib.ExitStack() as stack:
        for elmo in elmos:
            stack.enter_context(_prepared(elmo, tokenizer, ops, max_tokens, takes_tokens))
        module = _Module(model, storage)
        entrance = _tokens_entrance(model, max_tokens) if takes_tokens else _text_entrance(model)
        if isinstance(model, Elmo):
            signatures = _elmo_signatures(module, model, entrance, pooled_only, max_tokens)
        else:
            signatures = {"serving_default": module.function(*entrance, _named)}
        # Traced while the models are prepared.
        signatures = {name: f.get_concrete_function() for name, f in signatures.items()}
    module.track(signatures.values())
    with replacing_folder(path, overwrite) as temporary:
        tf.saved_model.save(module, temporary, signatures=signatures)
        check_operations(operations(temporary), ops)
        if warmup_texts is not None:
            serving.write_warmup(temporary, warmup_texts)
        if max_batch_size is not None:
            serving.write_batching(temporary, max_batch_size)


def operations(path):
    """The names of all operations of a SavedModel, those of its functions too.

    Args:
        path: its folder.

    Returns:
        A set of strings.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    saved = SavedModel()
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        saved.ParseFromString(file.read())
    graph = saved.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    return {node.op for node in nodes} - {f.signature.name for f in graph.library.function}


def check_operations(names, ops):
    """Raises a `ValueError` where operations need Python, or more than `ops` promises."""
    python = sorted(name for name in names if "PyFunc" in name)
    if python:
        raise ValueError(
            "The exported graph must hold no Python; a tokenizer or layer must be made of "
            f"TensorFlow's operations. Received: {python}"
        )
    added = sorted(name for name in names if name.startswith(("TFText", "RegexSplit")))
    if ops == "core" and added:
        raise ValueError(
            'With `ops="core"` the tokenizer must be made of TensorFlow\'s own operations. '
            f"Received: {added}"
        )


def _check(path, ops, storage, max_tokens, max_batch_size, overwrite):
    if ops not in ("tensorflow-text", "core"):
        raise ValueError(f'`ops` must be "tensorflow-text" or "core". Received: ops={ops!r}')
    if storage not in (None, *STORAGE):
        raise ValueError(
            f"`storage` must be one of {list(STORAGE)}, or None. Received: storage={storage!r}"
        )
    for name, value in (("max_tokens", max_tokens), ("max_batch_size", max_batch_size)):
        if value is not None:
            check_integers(1, **{name: value})
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            f"{path} exists already; export to another folder (TensorFlow Serving takes the "
            "highest number), or pass `overwrite=True`"
        )


class _Module(tf.Module):
    """What is saved: the functions' variables, each once."""

    def __init__(self, model, storage):
        super().__init__()
        self.widened = []
        readers = []
        for variable in model.weights:
            dtype = tf.as_dtype(variable.dtype)
            if storage and dtype.is_floating and dtype.size > tf.as_dtype(storage).size:
                self.widened.append(_Widened(variable.value, storage, len(self.widened)))
                readers.append((variable, self.widened[-1].value))
            else:
                readers.append((variable, variable.value.read_value))
        self.stored = [widened.stored for widened in self.widened]
        # Weights are read once, outside of loops: a loop that reads variables would run also where
        # no output needs it. (In a function: what an attribute holds is saved, too.)
        self._weights = lambda: keras.StatelessScope([(v, read()) for v, read in readers])

    def function(self, call, signature, outputs):
        """A `tf.function` of named inputs: `outputs(call(inputs))`, floats as float32."""

        def run(*inputs):
            with self._weights():
                result = outputs(call(*inputs))
            return {
                name: tf.cast(value, tf.float32) if value.dtype.is_floating else value
                for name, value in result.items()
            }

        return tf.function(run, input_signature=signature, autograph=False)

    def track(self, functions):
        """Holds on to the variables that the functions read."""
        variables = {id(v): v for function in functions for v in function.variables}
        self.captured = list(variables.values())


class _Widened(tf.saved_model.experimental.TrackableResource):
    """A variable that is stored in half its size, and whole again when the model is loaded."""

    def __init__(self, variable, storage, number):
        super().__init__()
        self._dtype, self._shape, self._number = variable.dtype, variable.shape, number
        self.stored = tf.Variable(tf.cast(variable, storage), trainable=False)

    def _create_resource(self):
        return tf.raw_ops.VarHandleOp(
            dtype=self._dtype, shape=self._shape, shared_name=f"widened_{self._number}"
        )

    def _initialize(self):
        value = tf.cast(self.stored, self._dtype)
        tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=value)

    def value(self):
        handle = self.resource_handle
        return tf.ensure_shape(
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=self._dtype), self._shape
        )


def _takes_tokens(model, elmos, tokenizer):
    """Whether the exported model takes padded tokens, and no raw strings."""
    shape = _token_shape(model)
    if not shape or shape[1] == 1:
        return tokenizer is None and all(elmo.tokenizer is None for elmo in elmos)
    if tokenizer is not None:
        raise ValueError(
            "`tokenizer` is for a model that takes raw strings. "
            f"Received: a model of tokens, with inputs of shape {shape}"
        )
    return True


def _token_shape(model):
    """The shape (batch, tokens) of a Keras model's input; `()` where it has no such input."""
    shape = () if isinstance(model, Elmo) else getattr(model, "input_shape", ())
    return shape if isinstance(shape, tuple) and len(shape) == 2 else ()


def _text_entrance(model):
    """What is called, and its signature."""
    return model, [tf.TensorSpec([None], tf.string, "text")]


def _tokens_entrance(model, max_tokens):
    """The same of a model of padded tokens."""
    shape = _token_shape(model)
    columns = shape[1] if shape else None

    def call(tokens):
        if max_tokens is None:
            return model(tokens)
        lengths = text.to_tokens(tokens, None).row_lengths()
        with tf.control_dependencies([_fits(lengths, max_tokens)]):
            return model(tf.identity(tokens))

    return call, [tf.TensorSpec([None, columns], tf.string, "tokens")]


def _elmo_signatures(module, elmo, entrance, pooled_only, max_tokens):
    def only(*names):
        return lambda outputs: {name: outputs[name] for name in (*names, "sequence_len")}

    if pooled_only:
        default = module.function(*entrance, only("default"))
        return {"default": default, "serving_default": default}

    def from_tokens(tokens, sequence_len):
        lengths = tf.cast(sequence_len, tf.int64)
        columns = tf.shape(tokens, out_type=tf.int64)[1]
        fits = tf.reduce_all((lengths >= 0) & (lengths <= columns))
        message = "`sequence_len` must be from 0 to the number of columns of `tokens`. Received:"
        check = tf.debugging.Assert(fits, [message, sequence_len, "columns:", columns])
        with tf.control_dependencies([check]):
            ragged = tf.RaggedTensor.from_tensor(tokens, tf.identity(lengths))
        return elmo(ragged if max_tokens is None else _limit(ragged, max_tokens))

    tokens = [tf.TensorSpec([None, None], tf.string, "tokens")]
    tokens += [tf.TensorSpec([None], tf.int32, "sequence_len")]
    default = module.function(*entrance, dict)
    return {
        "default": default,
        "serving_default": default,
        **{name: module.function(*entrance, only(name)) for name in elmo._sequence_names()},
        "tokens": module.function(from_tokens, tokens, dict),
    }


def _named(outputs):
    if isinstance(outputs, dict):
        return outputs
    return {f"output_{n}": value for n, value in enumerate(keras.tree.flatten(outputs))}


@contextlib.contextmanager
def _prepared(elmo, tokenizer, ops, max_tokens, takes_tokens):
    """An `Elmo` that is traced for others: no XLA, the tokenizer as asked for."""
    if elmo.stateful:
        raise ValueError(
            "A stateful model cannot be exported: a server's requests have no order. "
            "Received: an Elmo with stateful=True"
        )
    tokenizer = None if takes_tokens else text.get_tokenizer(tokenizer) or elmo.tokenizer
    if isinstance(tokenizer, text.WhitespaceTokenizer):
        tokenizer = type(tokenizer)(ops=ops)
    if max_tokens is not None and tokenizer is not None:
        tokenizer = _LimitedTokenizer(tokenizer, max_tokens)
    before = elmo.tokenizer, elmo._uses_xla
    elmo.tokenizer, elmo._uses_xla = tokenizer, False
    try:
        yield
    finally:
        elmo.tokenizer, elmo._uses_xla = before


class _LimitedTokenizer:
    def __init__(self, tokenizer, max_tokens):
        self.tokenizer, self.max_tokens = tokenizer, max_tokens

    def tokenize(self, strings):
        return _limit(self.tokenizer.tokenize(strings), self.max_tokens)


def _limit(ragged, max_tokens):
    with tf.control_dependencies([_fits(ragged.row_lengths(), max_tokens)]):
        return ragged.with_flat_values(tf.identity(ragged.flat_values))


def _fits(lengths, max_tokens):
    longest = tf.reduce_max(tf.concat([lengths, [0]], 0))
    message = f"A sentence must have at most {max_tokens} tokens. Received: one of"
    return tf.debugging.Assert(longest <= max_tokens, [message, longest])
