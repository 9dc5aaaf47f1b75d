"""Converts the text that a user passes to tensors of strings, and these to tensors of tokens.

`strings` says what each form of text means. It means the same wherever text is taken.
"""

import warnings
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import characters
from keras_elmo.annotations import Texts
from keras_elmo.checks import short_repr, stands_for_a_shape

# Bytes of a word that are read: a word also has a begin and an end.
MAX_WORD = characters.DEFAULT_MAX_CHARACTERS - 2
_RULE = (
    "Text must be a string, a list, an array or a tensor of strings, or, tokenised, a list of "
    "lists of strings, a padded (batch, tokens) array, or a RaggedTensor."
)


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
        texts: `str` or `bytes`; a list, tuple, NumPy array (of dtype `<U`, `S`, object or
            StringDType) or pandas Series of them, or of lists of them; or a string tensor or
            RaggedTensor, which is returned unchanged if it has an axis.

    Returns:
        A string tensor of the same shape, and of shape (1,) for one string. For lists of lists, a
        RaggedTensor, (batch, None); its method `to_tensor()` pads the lists to the length of the
        longest.

    Raises:
        TypeError: `texts` holds something that is not a string, for example a missing value. The
            message names the row.
        ValueError: it has more than two axes.

    Beside a tensor Keras takes no list of labels: its error, `Unrecognized data type`, names the
    texts, but means the labels.

    >>> model.fit(strings(texts), np.array(labels))
    """
    if tf.is_tensor(texts):
        if isinstance(texts, tf.SparseTensor):
            raise TypeError(f"{_RULE} Received: a SparseTensor; pass tf.sparse.to_dense(it, '')")
        if texts.dtype != tf.string:
            raise TypeError(f"{_RULE} Received: a tensor of dtype {texts.dtype.name}")
        if texts.shape.rank is not None and texts.shape.rank > 2:
            raise ValueError(f"{_RULE} Received: a tensor of shape {tuple(texts.shape)}")
        return tf.reshape(texts, (1,)) if texts.shape.rank == 0 else texts
    if isinstance(texts, str | bytes):
        return tf.constant([characters.text_to_bytes(texts)])
    if hasattr(texts, "__array__") and not isinstance(texts, np.ndarray):
        texts = np.asarray(texts)  # pandas objects, and arrays of other libraries
    if isinstance(texts, np.ndarray):
        received = f"Received: an array of dtype {texts.dtype} and shape {texts.shape}"
        # The kind T is NumPy 2's StringDType. An empty array may have any dtype.
        if texts.dtype.kind not in "USTO" and texts.size > 0:
            raise TypeError(f"{_RULE} {received}")
        if texts.ndim > 2:
            raise ValueError(f"{_RULE} {received}")
        if texts.ndim == 2:
            rows = enumerate(texts.tolist())
            words = [_checked_bytes(word, row) for row, words in rows for word in words]
            return tf.reshape(tf.constant(words, tf.string), texts.shape)
        texts = np.atleast_1d(texts).tolist()
    if not isinstance(texts, list | tuple):
        raise TypeError(f"{_RULE} Received: {type(texts).__name__}")
    texts = [list(t) if isinstance(t, tuple | np.ndarray) else t for t in texts]
    if texts and all(isinstance(text, list) for text in texts):
        texts = [without_padding(text) for text in texts]
        words = [
            _checked_bytes(word, row, index)
            for row, text in enumerate(texts)
            for index, word in enumerate(text)
        ]
        return tf.RaggedTensor.from_row_lengths(
            tf.constant(words, tf.string), tf.constant([len(text) for text in texts], tf.int64)
        )
    return tf.constant([_checked_bytes(text, row) for row, text in enumerate(texts)], tf.string)


def without_padding(tokens):
    """The tokens of a sentence, a list, without the `""` at its end."""
    end = len(tokens)
    while end and isinstance(tokens[end - 1], str | bytes) and not tokens[end - 1]:
        end -= 1
    return tokens[:end]


def _checked_bytes(word, row, index=None):
    """The bytes of a string, or a `TypeError` that names its place in the batch."""
    if isinstance(word, str | bytes):
        return characters.text_to_bytes(word)
    raise not_text(_RULE, word, f"row {row}" if index is None else f"token {index} of row {row}")


def not_text(rule, value, place):
    """A `TypeError` for a value that is not a string, in a place such as `"row 3"`."""
    cure = ""
    # A missing text in a table is None, NaN, or pandas's NA.
    is_nan = isinstance(value, float | np.floating) and value != value
    if value is None or is_nan or type(value).__name__ == "NAType":
        cure = '; drop the rows without a text, or put "" in its place (pandas: `.fillna("")`)'
    elif hasattr(value, "text"):
        cure = "; pass the strings, of spaCy's tokens `[token.text for token in doc]`"
    return TypeError(
        f"{rule} Received: {short_repr(value)} ({type(value).__name__}) in {place}{cure}"
    )


def strings_for(texts, tokenizer):
    """Like `strings`, for a model with a tokenizer: what looks like a mistake is checked.

    A RaggedTensor is not: its type says that it holds tokens.
    """
    tensor = strings(texts)
    if not tf.executing_eagerly():
        return tensor
    if not isinstance(tensor, tf.RaggedTensor):
        warn_of_long_words(np.ravel(tensor.numpy()).tolist(), tokenizer)
    elif tensor is not texts:
        check_tokens(tensor.flat_values.numpy().tolist(), tokenizer)
    return tensor


def warn_of_long_words(texts, tokenizer):
    """Warns of a raw string without spaces of which a model reads only the beginning.

    Lists among the texts are left out. Returns whether there was a warning.
    """
    for text in texts if getattr(tokenizer, "splits_on_spaces", False) else ():
        data = characters.text_to_bytes(text) if isinstance(text, str | bytes) else b""
        shown = data.decode("utf-8", "replace") if len(data) > MAX_WORD else ""
        if len(shown.split(None, 1)) == 1:
            warnings.warn(
                "A text without spaces is one token, of which a model reads a beginning, usually "
                f"{MAX_WORD} bytes. For proteins and other sequences of letters, make the model "
                'with tokenizer="characters"; for languages that are written without spaces, pass '
                f"lists of words. Received: {short_repr(shown)}",
                stacklevel=2,
            )
            return True
    return False


def check_tokens(tokens, tokenizer, may_refuse=True):
    """Warns of tokens, bytes, that hold whitespace at which the tokenizer would split them.

    More than half of such tokens are an error, if it `may_refuse`. Returns whether there was a
    warning.
    """
    if tokenizer is None:
        return False
    spaced = [token for token in tokens if len(token.decode("utf-8", "replace").split()) > 1]
    if not spaced:
        return False
    counts = tokenizer.tokenize(tf.constant(spaced)).row_lengths().numpy()
    split = [token for token, count in zip(spaced, counts, strict=True) if count > 1]
    if not split:
        return False
    message = (
        "Lists of strings in a list are tokens, which are not split again, and must not hold "
        f"whitespace. Received: {short_repr(split[0].decode('utf-8', 'replace'))} as a token"
    )
    if may_refuse and 2 * len(split) > len(tokens):
        raise ValueError(
            f'{message}; pass raw strings as "a cat", not as ["a cat"]. Where these are tokens, '
            "pass `keras_elmo.strings(...)` of them, or make the model with `tokenizer=None`"
        )
    warnings.warn(
        f"{message}, and {len(split):,} of {len(tokens):,} tokens with whitespace. They are taken "
        "as they are; `keras_elmo.strings(...)` of them is taken without this warning",
        stacklevel=2,
    )
    return True


def to_tokens(texts, tokenizer):
    """Text as a RaggedTensor of tokens, (batch, None), inside the graph.

    The tokenizer splits raw strings, (), (batch,) or (batch, 1). Without one the text must be
    tokens, (batch, tokens), padded at the end with `""` (an empty batch may be (0,)).
    """
    if isinstance(texts, tf.RaggedTensor):
        return texts.with_row_splits_dtype(tf.int64)
    rank = texts.shape.rank
    if tokenizer is None:
        if texts.shape == (0,):  # an empty list
            texts = tf.reshape(texts, (0, 0))
        elif rank != 2:
            raise ValueError(
                "With `tokenizer=None` the input must be tokens: lists of strings, a (batch, "
                f"tokens) tensor or a RaggedTensor. Received: a tensor of shape {texts.shape}"
            )
        return tf.RaggedTensor.from_tensor(texts, padding="")
    if rank == 2 and texts.shape[1] == 1:
        texts = texts[:, 0]
    elif rank is None or rank > 1:
        raise ValueError(
            "Raw strings must have shape (), (batch,) or (batch, 1); for text that is tokenised "
            "already pass lists of tokens or a RaggedTensor, or make the model with "
            f"`tokenizer=None`. Received: a tensor of shape {texts.shape}"
        )
    return tokenizer.tokenize(tf.reshape(texts, [-1]))


def call_strings(inputs, tokenizer=None):
    """The inputs of a call: text as tensors. Symbolic inputs of strings stay as they are.

    A tensor that stands for a shape (see `stands_for_a_shape`) becomes one of strings; of tokens
    whose number is not known it becomes ragged, which models with and without a tokenizer take.
    """
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
    return strings_for(inputs, tokenizer)


def fit_strings(inputs, tokenizer=None):
    """The inputs of `fit`: text as tensors. What holds batches already stays as it is.

    A column of raw strings, (batch, 1), becomes (batch,): Keras traces a graph for shapes of any
    rank once it has seen two ranks, and such a graph cannot tell raw strings from tokens.
    """
    if not (isinstance(inputs, str | bytes | list | tuple) or hasattr(inputs, "__array__")):
        return inputs
    tensor = strings_for(inputs, tokenizer)
    is_padded = tensor.shape.rank == 2 and not isinstance(tensor, tf.RaggedTensor)
    is_column = is_padded and tokenizer is not None and tensor.shape[1] == 1
    return tensor[:, 0] if is_column else tensor


def tokens_and_width(inputs, tokenizer, max_tokens):
    """The tokens of a call's inputs, a RaggedTensor, and the width that its outputs have.

    The width is an int where it is known, or else an int32 scalar. Texts have at least one column,
    which is padding where all are empty: Keras's recurrent layers fail on none.
    """
    tokens = to_tokens(inputs, tokenizer)
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
