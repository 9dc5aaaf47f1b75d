"""The character-id scheme, in plain Python: the reference for `keras_elmo.text.character_ids`.

A word is a row of `max_characters` ids: begin-word, the UTF-8 bytes of the word (id = byte + 1),
end-word, and then word padding. A word of more than `max_characters - 2` bytes is cut there, even
in the middle of a character. Id 0 is not a character: a row of zeros stands for a padding token.

Reference: `UnicodeCharsVocabulary` in bilm-tf's `bilm/data.py`, where the ids are shifted by one
when a batch is made.
"""

import re

BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
WORD_PADDING = 261
NUM_CHARACTERS = 261  # the ids 1 to 261; padding (0) is not a character
DEFAULT_MAX_CHARACTERS = 50

BOS = "<S>"
EOS = "</S>"

_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")  # surrogates that do not stand for a byte


def _add_word_marks(characters, max_characters):
    if max_characters < 3:
        raise ValueError(
            "`max_characters` must be at least 3 (begin-word, a character, end-word). "
            f"Received: max_characters={max_characters}"
        )
    row = [BEGIN_WORD, *characters, END_WORD]
    return row + [WORD_PADDING] * (max_characters - len(row))


def check_range(low, high, num_characters=NUM_CHARACTERS, what="Character ids"):
    """Raises a `ValueError` where ids from `low` to `high` are not all padding or characters."""
    if low < 0 or high > num_characters:
        raise ValueError(
            f"{what} must be from 0 (padding) to {num_characters}. "
            f"Received: ids from {low} to {high}"
        )


def text_to_bytes(text):
    """Encodes a `str` as UTF-8; `bytes` are returned unchanged.

    A lone surrogate becomes the byte that it stands for (Python's `surrogateescape`), or else
    U+FFFD, since it is not text.
    """
    if isinstance(text, bytes):
        return bytes(text)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _NO_BYTE.sub("\ufffd", text).encode("utf-8", "surrogateescape")


def word_to_ids(word, max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of one word, `str` or `bytes`: a list of `max_characters` ints.

    `"<S>"` and `"</S>"` have no special meaning here: see `boundary_ids`.
    """
    ids = [byte + 1 for byte in text_to_bytes(word)[: max_characters - 2]]
    return _add_word_marks(ids, max_characters)


def boundary_ids(max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of the sentence boundaries, begin and end: a pair of lists of ints."""
    marks = BEGIN_SENTENCE, END_SENTENCE
    return tuple(_add_word_marks([mark], max_characters) for mark in marks)
