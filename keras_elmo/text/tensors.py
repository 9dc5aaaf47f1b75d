"""Text as tensors, for Keras's own calls and inside graphs. `reading` says what each form means."""

import re
from typing import Any

import keras

from keras_elmo.annotations import Texts
from keras_elmo.backend import ON_TENSORFLOW, check_backend, tf
from keras_elmo.characters import text_to_bytes
from keras_elmo.checks import stands_for_a_shape
from keras_elmo.text import reading


def strings(texts: Texts) -> Any:
    """Text as a tensor of strings.

    Keras's own `fit`, `evaluate` and `predict` take neither lists of strings nor most arrays and
    pandas objects that hold strings. They take the result of this function.

    The form says what text is, for this function and for every method that takes text:

    - one string, or an array or tensor of shape (): a raw string, which is a batch of one;
    - a list, or an array or tensor (batch,): raw strings, one for each sentence;
    - a list of lists, or a RaggedTensor (batch, None): tokens, which are never split again. `""` at
      the end of a list is padding;
    - an array or tensor (batch, 1): a column of raw strings; (batch, tokens): tokens that are
      padded at the end with `""`, for a model with `tokenizer=None`, where (batch, 1) are tokens,
      too.

    Args:
        texts: `str` or `bytes`; a list, tuple or other iterable, NumPy array (of dtype `<U`, `S`,
            object or StringDType), pandas or Arrow column of them, or of lists of them; or a string
            tensor or RaggedTensor, which is returned unchanged if it has an axis.

    Returns:
        A string tensor of the same shape, and of shape (1,) for one string. For lists of lists, a
        RaggedTensor, (batch, None); its method `to_tensor()` pads the lists to the length of the
        longest.

    Raises:
        TypeError: `texts` holds something that is not a string, for example a missing value. The
            message names the row.
        ValueError: it has more than two axes, or lists beside raw strings.

    Beside a tensor Keras takes no list of labels: its error, `Unrecognized data type`, names the
    texts, but means the labels.

    >>> model.fit(strings(texts), np.array(labels))
    """
    return text_tensor(texts)


def text_tensor(texts, tokenizer=None):
    """Like `strings`, for a model with a tokenizer: what looks like a mistake is checked.

    A column of raw strings, (batch, 1), becomes (batch,): Keras traces a graph for shapes of any
    rank once it has seen two ranks, and such a graph cannot tell raw strings from tokens.
    """
    if tf.is_tensor(texts):
        texts = reading.check_array(texts)
        texts = tf.reshape(texts, (1,)) if texts.shape.rank == 0 else texts
        if tokenizer is None or isinstance(texts, tf.RaggedTensor) or not tf.executing_eagerly():
            return texts
        texts = reading.raw_strings(texts)
        reading.look_at(texts.numpy().tolist(), tokenizer)
        return texts
    rows = reading.list_sentences(texts, tokenizer)
    if tokenizer is None and len(getattr(texts, "shape", ())) == 2:
        return ragged_tokens(rows).to_tensor("", shape=texts.shape)
    tokenizer = tokenizer if tf.executing_eagerly() else None  # A graph is not looked at.
    are_lists = {isinstance(row, list) for row in rows}
    if are_lists == {True, False}:
        return ragged_tokens(reading.read_tokens(rows, tokenizer))
    reading.look_at(rows, tokenizer)
    if True in are_lists:
        return ragged_tokens(rows)
    return tf.constant([text_to_bytes(row) for row in rows], tf.string)


def ragged_tokens(sentences):
    """Tokens, lists of bytes, as a string RaggedTensor, (batch, None)."""
    sentences = list(sentences)
    words = tf.constant([word for tokens in sentences for word in tokens], tf.string)
    lengths = tf.constant([len(tokens) for tokens in sentences], tf.int64)
    return tf.RaggedTensor.from_row_lengths(words, lengths)


def to_tokens(texts, tokenizer):
    """Text as a RaggedTensor of tokens, (batch, None), inside the graph.

    The tokenizer splits raw strings. Without one the text must be tokens, padded with `""`.
    """
    if isinstance(texts, tf.RaggedTensor):
        return texts.with_row_splits_dtype(tf.int64)
    if tokenizer is None:
        if texts.shape == (0,):  # an empty list
            texts = tf.reshape(texts, (0, 0))
        elif texts.shape.rank != 2:
            raise ValueError(
                "Without a tokenizer (`tokenizer=None`) text must be tokens: lists of strings, a "
                f"RaggedTensor or (batch, tokens). Received: raw strings of shape {texts.shape}"
            )
        return tf.RaggedTensor.from_tensor(texts, padding="")
    return tokenizer.tokenize(tf.reshape(reading.raw_strings(texts), [-1]))


def call_strings(inputs, tokenizer=None):
    """The inputs of a call: text as tensors. Symbolic inputs of strings stay as they are.

    A tensor that stands for a shape (see `stands_for_a_shape`) becomes one of strings, or ragged.
    On Keras's other backends the inputs must be numbers, which stay as they are.
    """
    if not ON_TENSORFLOW:
        if not re.search("int|float", str(getattr(inputs, "dtype", ""))):
            check_backend()
        return inputs
    if isinstance(inputs, keras.KerasTensor):
        if inputs.dtype != "string":
            raise TypeError(
                'Text must be strings: make the input with keras.Input(shape=(), dtype="string"). '
                f"Received: an input of dtype {inputs.dtype}"
            )
        return inputs
    if tf.is_tensor(inputs) and inputs.dtype.is_floating and not tf.executing_eagerly():
        if not stands_for_a_shape(inputs):
            raise TypeError(
                "Text must be strings. (Keras's `Model.export` takes the inputs of a subclassed "
                "model for numbers: pass it input_signature=[tf.TensorSpec([None], tf.string)].) "
                f"Received: a tensor of dtype {inputs.dtype.name}"
            )
        inputs = tf.strings.as_string(inputs)
        if inputs.shape.rank == 2 and inputs.shape[1] is None:
            inputs = tf.RaggedTensor.from_tensor(inputs)
    return text_tensor(inputs, tokenizer)


def fit_strings(inputs, tokenizer=None):
    """The inputs of `fit`: text as tensors. What holds batches already stays as it is."""
    is_text = isinstance(inputs, str | bytes | list | tuple) or hasattr(inputs, "__array__")
    if is_text and not ON_TENSORFLOW:
        return call_strings(inputs)
    return text_tensor(inputs, tokenizer) if is_text else inputs


def tokens_and_width(inputs, tokenizer, max_tokens, limit=None):
    """The tokens of a call's inputs, a RaggedTensor, and the width that its outputs have.

    The width is an int where it is known, or else an int32 scalar; and at least 1 for raw strings,
    since Keras's recurrent layers fail on 0. See `refuse_longer` for the `limit`.
    """
    tokens = to_tokens(inputs, tokenizer)
    if limit is not None:
        tokens = refuse_longer(tokens, limit)
    if max_tokens is not None:
        return tokens[:, :max_tokens], max_tokens
    is_padded = tokenizer is None and not isinstance(inputs, tf.RaggedTensor)
    if is_padded and inputs.shape.rank == 2:
        return tokens, num_columns(inputs)
    longest = tf.reduce_max(tokens.row_lengths())  # int64's minimum for an empty batch
    return tokens, tf.cast(tf.maximum(longest, 1), tf.int32)


def symbolic_width(inputs, tokenizer, max_tokens):
    """The width that the outputs of a symbolic call have: an int, or `None` where it varies."""
    if tokenizer is not None or getattr(inputs, "ragged", False):
        return max_tokens
    if len(inputs.shape) != 2:
        raise ValueError(
            "With `tokenizer=None` the input must be tokens: make it with "
            'keras.Input(shape=(None,), dtype="string"). '
            f"Received: an input of shape {inputs.shape}"
        )
    return max_tokens or inputs.shape[1]


def num_columns(tensor):
    """The size of a tensor's second axis: an int where it is known, or else an int32 scalar."""
    return tf.shape(tensor)[1] if tensor.shape[1] is None else tensor.shape[1]


def refuse_longer(tokens, max_tokens):
    """A RaggedTensor as it is; its graph fails where a sentence has more than `max_tokens`."""
    longest = tf.reduce_max(tf.concat([tokens.row_lengths(), [0]], 0))
    message = f"A sentence must have at most {max_tokens} tokens. Received: one of"
    check = tf.debugging.Assert(longest <= max_tokens, [message, longest])
    with tf.control_dependencies([check]):
        return tokens.with_flat_values(tf.identity(tokens.flat_values))
