import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_elmo import batch_to_ids, characters
from keras_elmo.text.character_ids import ByteScheme, character_ids, check_character_ids

SCHEME = ByteScheme(10)
# Lone surrogates are among the characters.
ANY_WORD = st.binary(max_size=60) | st.text(st.characters(exclude_categories=()), max_size=60)


@settings(deadline=None, max_examples=100)
@given(st.lists(ANY_WORD, max_size=6), st.sampled_from([3, 4, 10, 50, 57]))
@example([], 50)
@example(["\udc80", "a\ud800", "\udc80" * 50, "", "é" * 24], 50)
@example([b"\xff" * 10_000, b"a"], 50)
@example([b"", b"\x00", b"\x00\x00a", b"\xff" * 48, b"a" * 49, b"a" * 47 + "é".encode()], 50)
def test_ids_are_those_of_the_plain_scheme(words, size):
    ids = character_ids(tf.constant(list(map(characters.text_to_bytes, words)), tf.string), size)
    rows = ByteScheme(size).rows(words)
    assert ids.dtype == rows.dtype == np.int32
    assert ids.shape == rows.shape == (len(words), size)
    expected = [characters.word_to_ids(word, size) for word in words]
    assert ids.numpy().tolist() == rows.tolist() == expected


# batch_to_ids


def test_ids_of_a_batch():
    ids = batch_to_ids([["The", "na\u00efve"], [], ["cat"]])
    assert ids.dtype == tf.int32 and ids.shape == (3, 2, 50)
    for row, words in enumerate([["The", "na\u00efve"], [], ["cat"]]):
        expected = [*map(characters.word_to_ids, words), *[[0] * 50] * (2 - len(words))]
        assert ids[row].numpy().tolist() == expected
    padded = batch_to_ids(np.array([["The", "na\u00efve"], ["", ""], ["cat", ""]]))
    np.testing.assert_array_equal(padded, ids)
    assert batch_to_ids([["ab"]], max_characters=4).shape == (1, 1, 4)
    assert batch_to_ids([]).shape == (0, 0, 50)
    with pytest.raises(ValueError, match="must be tokens.*raw strings"):
        batch_to_ids(["The cat"])
    with pytest.raises(TypeError, match="Received: 1"):
        batch_to_ids([[1]])


# check_character_ids


def a_batch(dtype="int32", last=0):
    """Ids of two words and of one, whose third token consists of `last`."""
    ids = np.zeros((2, 3, 10), dtype)
    ids[0, :2] = [characters.word_to_ids(word, 10) for word in ("The", "cat")]
    ids[1, :1] = characters.word_to_ids("", 10)
    ids[1, 2] = last
    return ids


@pytest.mark.parametrize("dtype", ["int16", "uint64"])
def test_any_integers_become_int32(dtype):
    ids = check_character_ids(a_batch(dtype), SCHEME)
    assert ids.dtype == tf.int32
    np.testing.assert_array_equal(ids, a_batch())
    np.testing.assert_array_equal(check_character_ids(ids.numpy().tolist(), SCHEME), ids)
    signature = [tf.TensorSpec([None, None, 10], dtype)]
    graph = tf.function(lambda ids: check_character_ids(ids, SCHEME), input_signature=signature)
    np.testing.assert_array_equal(graph(a_batch(dtype)), ids)


@pytest.mark.parametrize("shape", [(0, 0, 10), (0, 4, 10), (3, 0, 10)])
def test_empty_batches_are_taken(shape):
    assert check_character_ids(np.zeros(shape, "int32"), SCHEME).shape == shape


@pytest.mark.parametrize(
    "ids, error, message",
    [
        (np.zeros((1, 2, 10), "float32"), TypeError, "must be integers. Received: dtype float32"),
        (a_batch(last=1), ValueError, "Received: a token after padding"),
        *[
            (a_batch("int64", last), ValueError, f"to 261. Received: ids from .*{last}")
            for last in (-1, 262, 2**32 + 5)
        ],
    ],
)
def test_ids_that_do_not_fit_are_refused(ids, error, message):
    with pytest.raises(error, match=message):
        check_character_ids(ids, SCHEME)


@pytest.mark.parametrize("shape", [(2, 10), (2, 3, 9)])
def test_other_shapes_are_refused(shape):
    message = re.escape(f"(batch, tokens, 10). Received: shape {shape}")
    with pytest.raises(ValueError, match=message):
        check_character_ids(np.zeros(shape, "int32"), SCHEME)
    graph = tf.function(lambda ids: check_character_ids(ids, SCHEME))
    with pytest.raises(ValueError, match=message):
        graph.get_concrete_function(tf.TensorSpec(shape, tf.int32))
