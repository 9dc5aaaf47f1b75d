import functools

import numpy as np
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text.tokenizer_cases import NO_SPACES, SPACES, noise, tokenizer_of

from keras_elmo import WhitespaceTokenizer, text
from keras_elmo.text.byte_ids import byte_ids

# Characters that are near a space in code points or in bytes.
NEAR_SPACES = NO_SPACES + "\u2060\u2010\u2027\u202a\u2030\u3001"
encoded = st.text(max_size=12).map(lambda string: string.encode("utf-8", "surrogatepass"))
tokenizer = tokenizer_of(WhitespaceTokenizer)


def padded(strings, more=0):
    """Texts as rows of bytes, spaces after them."""
    width = max(map(len, strings)) + more
    rows = [np.frombuffer(string.ljust(width), np.uint8) for string in strings]
    return tf.constant(np.reshape(rows, (len(strings), width)))


@functools.cache
def graph_of(max_characters):
    signature = [tf.TensorSpec([None, None], tf.uint8)]
    return tf.function(lambda text: byte_ids(text, max_characters), input_signature=signature)


def assert_same_as_strings(strings, max_characters=50, more=0):
    ids, rows, starts, ends = graph_of(max_characters)(padded(strings, more))
    tokens, *offsets = tokenizer.tokenize_with_offsets(tf.constant(strings))
    np.testing.assert_array_equal(ids, text.character_ids(tokens.flat_values, max_characters))
    np.testing.assert_array_equal(rows, tokens.value_rowids())
    for one, other in zip((starts, ends), offsets, strict=True):
        np.testing.assert_array_equal(one, other.flat_values)
    for tensor in (ids, rows, starts, ends):
        assert tensor.dtype == tf.int32


@settings(deadline=None, max_examples=150)
@given(st.lists(noise | encoded, min_size=1), st.integers(0, 3), st.sampled_from([3, 50]))
@example([b"", b" a ", b"two\xc2\xa0words"], 0, 50)
@example([f"two{character}words".encode() for character in SPACES + NEAR_SPACES], 0, 50)
@example([b"x" * 47, b"x" * 48, b"x" * 49, b"x" * 500], 0, 50)
@example([("é" * 60).encode(), SPACES.encode(), b"\x00 \x00\x00"], 1, 50)
@example([b"cut mid-space \xe2\x80", b"\xe3\x80\x80", b"\xc2", b"\xe1\x9a"], 0, 50)
def test_tokens_ids_and_offsets_are_those_of_strings(strings, more, max_characters):
    assert_same_as_strings(strings, max_characters, more)


def test_no_byte_at_all():
    ids, *others = byte_ids(tf.zeros((3, 0), tf.uint8))
    assert ids.shape == (0, 50)
    assert all(other.shape == (0,) for other in others)
