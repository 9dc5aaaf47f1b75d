"""Hostile strings through every tokenizer and scheme of ids, against plain Python."""

import numpy as np
import tensorflow as tf
from campaign.case import expect
from manylangs_models import CHARACTERS, WORDS
from text.tokenizer_cases import (
    LETTERS,
    NO_SPACES,
    OPS,
    PUNCTUATION,
    SPACES,
    python_split,
    tokenizer_of,
)

from keras_elmo import SpaceTokenizer, TreebankTokenizer, WhitespaceTokenizer, characters
from keras_elmo.dictionary import Dictionary
from keras_elmo.text import character_ids
from keras_elmo.text.byte_ids import byte_ids
from keras_elmo.text.dictionary_scheme import DictionaryScheme

_WORDS = "don't U.S. J.K. No. 5 1,000,000 7-6 (7/5) e.g. AT&T ... -- 's ’s <bos> <S> 👩‍💻 हिन्दी"
_PIECES = [
    *(c.encode() for c in SPACES + NO_SPACES + PUNCTUATION + LETTERS),
    *(word.encode() for word in _WORDS.split()),
    *(
        b" ",
        b"  ",
        b"\xc2",
        b"\xe2",
        b"\xe2\x80",
        b"\xe1\x9a",
        b"\xe3\x80",
        b"\xff",
        b"\xed\xa0\x80",
    ),
]


def random_string(rng, pieces=_PIECES):
    """Bytes: pieces of text, code points and noise."""
    parts = []
    for _ in range(int(rng.integers(0, rng.choice([2, 12, 60])))):
        choice = rng.random()
        if choice < 0.7:
            parts.append(pieces[rng.integers(len(pieces))])
        elif choice < 0.9:
            point = int(rng.integers(0, rng.choice([0x100, 0x3000, 0x110000])))
            parts.append(chr(point).encode("utf-8", "surrogatepass"))
        else:
            parts.append(rng.bytes(int(rng.integers(1, 5))))
    return b"".join(parts)


def run(seed, folder):
    rng = np.random.default_rng(seed)
    strings = [random_string(rng) for _ in range(int(rng.integers(0, 30)))]
    words = [word for string in strings for word in python_split(string)] + [b""]
    for kind in (WhitespaceTokenizer, TreebankTokenizer, SpaceTokenizer):
        rows = [_tokens(kind, ops, strings) for ops in OPS]
        for string, one, other in zip(strings, *rows, strict=True):
            expect(one == other, f"{kind.__name__}: {one}, as with {OPS[0]}", (other, string))
            if kind is SpaceTokenizer:
                expected = [word for word in string.split(b" ") if word]
            else:
                expected = python_split(string)
            if kind is TreebankTokenizer:  # it only splits words further
                joined = b"".join(one) == b"".join(expected)
                ends = np.cumsum([len(word) for word in expected])
                within = set(ends) <= set(np.cumsum([len(token) for token in one]))
                expect(joined and within, f"parts of the words {expected}", one)
            else:
                expect(one == expected, f"{kind.__name__}: {expected}", (one, string))
    _check_ids(rng, words)
    _check_byte_ids(rng, strings)
    _check_dictionary(rng, words)


def _tokens(kind, ops, strings):
    tokens, starts, ends = (
        part.to_list()
        for part in tokenizer_of(kind, ops).tokenize_with_offsets(tf.constant(strings, tf.string))
    )
    for string, *row in zip(strings, tokens, starts, ends, strict=True):
        cut = [string[start:end] for start, end in zip(*row[1:], strict=True)]
        expect(row[0] == cut, f"{kind.__name__}, {ops}: tokens {row[0]} at their offsets", cut)
    return tokens


def _check_ids(rng, words):
    size = int(rng.choice([3, 4, 10, 50]))
    ids = character_ids(tf.constant(words, tf.string), size).numpy().tolist()
    for word, row in zip(words, ids, strict=True):
        expected = characters.word_to_ids(word, size)
        expect(row == expected, f"{word}: {expected}", row)


def _check_byte_ids(rng, strings):
    size, width = int(rng.choice([3, 10, 50])), max(map(len, strings), default=0) + 1
    data = [list(string.ljust(width, b" ")) for string in strings]
    data = np.array(data, np.uint8).reshape(len(strings), width)
    ids, rows, starts, ends = (part.numpy().tolist() for part in byte_ids(data, size))
    found = [strings[r][s:e] for r, s, e in zip(rows, starts, ends, strict=True)]
    expected = [word for string in strings for word in python_split(string)]
    expect(found == expected, f"byte_ids: {expected}", found)
    expected = [characters.word_to_ids(word, size) for word in expected]
    expect(ids == expected, f"byte_ids: {expected}", ids)


def _check_dictionary(rng, words):
    entries = {*CHARACTERS, None, *(chr(int(rng.integers(0xD800))) for _ in range(20))}
    entries = list(rng.permutation(np.array(sorted(entries, key=str), object)))
    known = {*WORDS, *(word.decode("utf-8", "ignore") for word in words[::3])}
    has_words = rng.random() < 0.5
    dictionary = Dictionary(entries, sorted(known) if has_words else None)
    size = int(rng.choice([3, 9, 50]))
    words = words + [word.encode() for word in sorted(known)]
    ids = DictionaryScheme(dictionary, size).ids(tf.constant(words, tf.string)).numpy().tolist()
    for word, row in zip(words, ids, strict=True):
        expected = dictionary.word_to_ids(word, size)
        expect(row == expected, f"{word} by a dictionary, size {size}: {expected}", row)
