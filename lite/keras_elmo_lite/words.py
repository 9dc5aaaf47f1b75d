"""Tokens, bytes, to character ids and rows of tables, and where they are in their text.

The ids are those of `keras_elmo.characters`. `splitting.py` is a file of keras_elmo, too.
"""

import codecs
import functools
import struct

import numpy as np

from keras_elmo_lite.splitting import SPACE, text_to_bytes

# What is not UTF-8 is one unknown character for each run of such bytes.
_ONE_UNKNOWN = "keras_elmo_lite.one_unknown"
codecs.register_error(_ONE_UNKNOWN, lambda error: ("\udcff", error.end))

_BEGIN_SENTENCE, _END_SENTENCE, _BEGIN_WORD, _END_WORD, _WORD_PADDING = range(257, 262)

_WORD_ROWS = 2**15  # of the table of word vectors
_MASK_64 = 2**64 - 1


def to_strings(tokens):
    """Tokens, a list of bytes, as a list of `str`. Bytes that are not UTF-8 are lone surrogates."""
    return [token.decode("utf-8", "surrogateescape") for token in tokens]


def spans(text, tokens, tokenizer):
    """Where the tokens of a text are: pairs of the first character, and the one after the last.

    Args:
        text: str.
        tokens: list of bytes, what `splitting.tokenize` gives for it.
        tokenizer: a key of `splitting.TOKENIZERS`.
    """
    data, end, result = text_to_bytes(text), 0, []
    if tokenizer != "space":  # Only spaces stand between the tokens then.
        data = SPACE.sub(lambda match: b" " * len(match[0]), data)
    sizes = [len(text_to_bytes(character)) for character in text]
    character_at = np.repeat(np.arange(len(text) + 1), [*sizes, 1])  # by the index of a byte
    for token in tokens:
        start = data.index(token, end)
        end = start + len(token)
        result.append((int(character_at[start]), int(character_at[end])))
    return result


@functools.lru_cache(2**16)
def word_row(word):
    """The row of a word, bytes, in the table of word vectors of a classifier or tagger.

    keras_elmo has it from `tf.strings.lower`, which ends a word at a NUL, and
    `to_hash_bucket_strong`. Python may not know the small letters of a later Unicode.
    """
    lower = word.split(b"\0")[0].decode("utf-8", "replace").lower().encode()
    return _siphash(lower) % _WORD_ROWS


def _siphash(data):
    """SipHash-2-4 with the key 0. Reference: Aumasson and Bernstein 2012."""
    a, b, c, d = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    blocks = [block for (block,) in struct.iter_unpack("<Q", padded)]
    for block in [*blocks, None]:  # and what ends the hash
        c ^= 0xFF if block is None else 0
        d ^= block or 0
        for _ in range(4 if block is None else 2):
            a, c = (a + b) & _MASK_64, (c + d) & _MASK_64
            b, d = _rotate(b, 13) ^ a, _rotate(d, 16) ^ c
            a, c = (_rotate(a, 32) + d) & _MASK_64, (c + b) & _MASK_64
            b, d, c = _rotate(b, 17) ^ c, _rotate(d, 21) ^ a, _rotate(c, 32)
        a ^= block or 0
    return a ^ b ^ c ^ d


def _rotate(number, bits):
    return ((number << bits) | (number >> (64 - bits))) & _MASK_64


class ByteScheme:
    """The original's character ids: bytes + 1. See `keras_elmo.characters`."""

    def __init__(self, max_characters):
        self.ids_per_token = max_characters
        self._room = max_characters - 2

    def boundaries(self):
        """The rows of `<S>` and `</S>`: int32, (2, ids_per_token)."""
        return self._rows([[_BEGIN_SENTENCE], [_END_SENTENCE]])

    def ids(self, words):
        """Words, a list of bytes, to int32, (words, ids_per_token)."""
        return self._rows([[byte + 1 for byte in word[: self._room]] for word in words])

    def _rows(self, words):
        rows = np.full((len(words), self.ids_per_token), _WORD_PADDING, np.int32)
        for row, characters in zip(rows, words, strict=True):
            row[: len(characters) + 2] = [_BEGIN_WORD, *characters, _END_WORD]
        return rows


class DictionaryScheme:
    """The ids of ELMoForManyLangs, by a model's dictionary. See `keras_elmo.characters`."""

    def __init__(self, characters, words, max_characters):
        self._characters = {entry: index + 1 for index, entry in enumerate(characters)}
        self._words = words and {entry: index + 1 for index, entry in enumerate(words)}
        self._room = max_characters - 2
        self.ids_per_token = max_characters + (words is not None)

    def boundaries(self):
        """See `ByteScheme`."""
        return self.ids([b"<bos>", b"<eos>"])

    def ids(self, words):
        """See `ByteScheme`."""
        rows = [self._row(word.decode("utf-8", _ONE_UNKNOWN)[: self._room]) for word in words]
        return np.array(rows, np.int32).reshape(len(words), self.ids_per_token)

    def _row(self, word):
        body = [word] if word in ("<bos>", "<eos>") else word
        row = ["<eow>", *body, "<bow>"]  # the original has the two marks swapped
        row += ["<pad>"] * (self._room + 2 - len(row))
        unknown = self._characters["<oov>"]
        ids = [self._characters.get(character, unknown) for character in row]
        if self._words is not None:
            ids.append(self._words.get(word, self._words["<oov>"]))
        return ids


def scheme_of(options):
    """The character scheme of a model, by its options.json, a dict."""
    max_characters = options["char_cnn"]["max_characters_per_token"]
    if "dictionary" in options:
        return DictionaryScheme(**options["dictionary"], max_characters=max_characters)
    return ByteScheme(max_characters)
