"""Tokenizers and random strings that the tests of the tokenizers share."""

import functools

import tensorflow as tf
from hypothesis import strategies as st

OPS = ["tensorflow-text", "core"]
# The characters on which Python's `str.split()` splits, and some on which it does not.
SPACES = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"
NO_SPACES = "\u200b\u180e\ufeff\u2060\u200d\x08\x1b\x84\x86\x9f\xa1"
PUNCTUATION = ".,;:!?'\u2019\"-$%()&@/#:<=_\u2026\x00\x01\x02\x03\x04"
LETTERS = "aAtTsS09éИ猫ह\u093f\u0301😀"

texts = st.text(
    st.sampled_from(SPACES + NO_SPACES + PUNCTUATION + LETTERS)
    | st.characters(exclude_categories=["Cs"])
)
# Random bytes, with many that are part of a space.
noise = st.lists(
    st.binary(max_size=4)
    | st.sampled_from([space.encode() for space in SPACES])
    | st.sampled_from(
        [b"\xc2", b"\xe2", b"\xe2\x80", b"\xe1\x9a", b"\xe3\x80", b"\x00", b"'s", b"."]
        + [b"\xed\xa0\x80"]  # half of a surrogate pair
    )
).map(b"".join)

# Strings without words, NUL bytes, bytes that are not UTF-8, and long words.
EDGES = [b"", b" ", "\n\t \u3000".encode(), b"a\x00 b\x00\x00 \x00 c", b"\xff\xfe x\xe2 \x80"]
EDGES += [b" ".join([b"a" * 10_000, "\u00e9".encode() * 5_000]), b"b"]
EDGES += [f"two{character}words".encode() for character in SPACES + NO_SPACES]


@functools.cache  # each tokenizer traces a graph
def tokenizer_of(kind, ops="tensorflow-text"):
    return kind(ops)


@functools.cache
def _graph_of(tokenizer):
    signature = [tf.TensorSpec([None], tf.string)]
    return tf.function(tokenizer.tokenize_with_offsets, input_signature=signature)


def in_graph(tokenizer, strings):
    """`tokenize_with_offsets` with the operations of graphs: eager calls have TensorFlow's own."""
    return _graph_of(tokenizer)(tf.constant(strings, tf.string))


def split(tokenizer, strings):
    return in_graph(tokenizer, strings)[0].to_list()


def python_split(string):
    words = string.decode("utf-8", "surrogateescape").split()
    return [word.encode("utf-8", "surrogateescape") for word in words]
