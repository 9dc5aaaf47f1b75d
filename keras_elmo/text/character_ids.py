"""How a model sees words: tokens to character ids, inside the graph."""

import functools
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_elmo import characters
from keras_elmo.annotations import Texts
from keras_elmo.backend import ON_TENSORFLOW, known_values, tf
from keras_elmo.checks import stands_for_a_shape
from keras_elmo.text.byte_ids import add_word_marks, byte_ids
from keras_elmo.text.reading import read_tokens
from keras_elmo.text.tensors import strings, to_tokens


def character_ids(tokens, max_characters=characters.DEFAULT_MAX_CHARACTERS):
    """The character ids of tokens of any bytes, string (N,): int32, (N, max_characters).

    A plain-Python reference is `keras_elmo.characters.word_to_ids`.
    """
    room = max_characters - 2
    data = tf.cast(tf.io.decode_raw(tokens, tf.uint8, fixed_length=room), tf.int32)  # (N, room)
    lengths = tf.minimum(tf.strings.length(tokens), room)[:, None]  # bytes, (N, 1)
    return add_word_marks(data + 1, lengths)


def batch_to_ids(sentences: Texts, max_characters: int = characters.DEFAULT_MAX_CHARACTERS) -> Any:
    """The character ids of a batch of sentences, for `Elmo.from_character_ids`.

    Args:
        sentences: list of lists of strings, a RaggedTensor, or strings (batch, tokens) padded with
            `""`: tokens, without sentence boundaries.
        max_characters: int, at least 3. Characters of a word.

    Returns:
        int32, (batch, tokens, max_characters), padded with 0. On Keras's other backends than
        TensorFlow it is a NumPy array.

    Raises:
        ValueError: the sentences are not tokenised.
        TypeError: the sentences hold something that is not a string.

    Example:

    >>> keras_elmo.batch_to_ids([["The", "cat", "sat", "."], ["Hello"]]).shape
    TensorShape([2, 4, 50])

    Reference: `batch_to_ids` in AllenNLP's allennlp/modules/elmo.py.
    """
    return rows_of_sentences(sentences, ByteScheme(max_characters))


def rows_of_sentences(sentences, scheme):
    """`batch_to_ids` by a scheme."""
    if not ON_TENSORFLOW:
        sentences = list(read_tokens(sentences, None))
        rows = scheme.rows([word for tokens in sentences for word in tokens])
        return padded_rows(rows, [len(tokens) for tokens in sentences])
    tokens = to_tokens(strings(sentences), None)
    return tokens.with_flat_values(scheme.ids(tokens.flat_values)).to_tensor()


def padded_rows(values, row_lengths):
    """Values of tokens, (N, ...), padded with zeros: (batch, tokens, ...), at least 1 token."""
    is_token = np.arange(max([1, *row_lengths])) < np.array(row_lengths, int)[:, None]
    rows = np.zeros((*is_token.shape, *values.shape[1:]), values.dtype)
    rows[is_token] = values
    return rows


def check_character_ids(ids, scheme, has_boundaries=False):
    """Checks character ids, (batch, tokens, ids_per_token), and returns them as int32.

    Sentence boundaries are removed, which leaves two tokens fewer. Values are checked where they
    are known, as those of NumPy's arrays are.
    """
    if not hasattr(ids, "dtype"):
        ids = np.asarray(ids)
    values = known_values(ids)
    if not isinstance(ids, keras.KerasTensor):
        ids = ops.convert_to_tensor(ids)
    if stands_for_a_shape(ids):
        ids = ops.cast(ids, "int32")
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if "int" not in dtype:
        raise TypeError(f"Character ids must be integers. Received: dtype {dtype}")
    if len(ids.shape) != 3 or ids.shape[-1] != scheme.ids_per_token:
        raise ValueError(
            f"Character ids must have shape (batch, tokens, {scheme.ids_per_token}). "
            f"Received: shape {tuple(ids.shape)}"
        )
    if values is not None and values.size > 0:
        chars = values
        if scheme.num_words is not None:
            chars, words = values[..., :-1], values[..., -1]
            characters.check_range(int(words.min()), int(words.max()), scheme.num_words, "Word ids")
        characters.check_range(int(chars.min()), int(chars.max()), scheme.num_characters)
        is_token = np.any(values > 0, axis=-1)  # (batch, tokens)
        _check_boundaries(chars, is_token, has_boundaries, scheme.boundaries[:, 1])
        if np.any(is_token[:, 1:] & ~is_token[:, :-1]):
            raise ValueError(
                "Padding (ids that are all 0) must end a sentence. Received: a token after padding"
            )
    ids = ops.cast(ids, "int32")
    if has_boundaries:
        # A token is neither the first nor the last where one comes before it and one after it.
        is_token = ops.any(ids[:, 2:] > 0, axis=-1, keepdims=True)
        ids = ops.where(is_token, ids[:, 1:-1], 0)
    return ids


def _check_boundaries(ids, is_token, has_boundaries, marks):
    """Checks sentence boundaries, by the ids of the characters that only `<S>` and `</S>` have."""
    begins, ends = (np.any(ids == mark, axis=-1) for mark in marks)  # (batch, tokens)
    if has_boundaries:
        is_last = is_token & ~np.pad(is_token, [[0, 0], [0, 1]])[:, 1:]
        is_first = is_token & (np.arange(ids.shape[1]) == 0)
        if np.any((begins != is_first) | (ends != is_last)):
            raise ValueError(
                "With `has_boundaries=True` the first token of each sentence must be <S>, the last "
                "one </S>, and none between them. Received: other ids"
            )
    elif np.any(begins | ends):
        raise ValueError(
            "Character ids must not hold the sentence boundaries <S> and </S>, except with "
            f"`has_boundaries=True`. Received: ids {marks[0]} or {marks[1]}"
        )


class ByteScheme:
    """The original's scheme: the ids of `keras_elmo.characters`.

    A scheme makes a row of `ids_per_token` ids of each word. `DictionaryScheme` has the same names.
    """

    num_characters = characters.NUM_CHARACTERS  # the largest id
    num_words = None  # with a table of words: the largest id of a word, which ends each row
    word_padding = characters.WORD_PADDING
    meaning = "the ids of keras_elmo.characters"
    tables = ()  # the TensorFlow tables that `ids` reads: a SavedModel must hold them

    def __init__(self, max_characters):
        self.ids_per_token = max_characters
        # The rows of <S> and </S>: (2, ids_per_token).
        self.boundaries = np.array(characters.boundary_ids(max_characters), np.int32)
        self.bytes_to_ids = functools.partial(byte_ids, max_characters=max_characters)

    def ids(self, words):
        """Words, string (N,), to their rows, int32 (N, ids_per_token)."""
        return character_ids(words, self.ids_per_token)

    def rows(self, words):
        """`ids` of a list of `str` or `bytes`, in NumPy."""
        return characters.words_to_ids(words, self.ids_per_token)
