"""The character-id scheme, in plain Python: the reference for `keras_elmo.text.character_ids`.

A word is a row of `max_characters` ids: begin-word, its UTF-8 bytes (id = byte + 1, cut to
`max_characters - 2` bytes, mid-character if need be), end-word, then word padding. Id 0 is no
character: a row of zeros is a token that is not there.

Reference: `UnicodeCharsVocabulary` in bilm-tf's `bilm/data.py`, whose ids are shifted by one when
a batch is made.
"""

PADDING = 0
BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
WORD_PADDING = 261
NUM_CHARACTERS = 261  # ids 1..261; padding (0) is not a character
DEFAULT_MAX_CHARACTERS = 50

BOS = "<S>"
EOS = "</S>"


def _row(characters, max_characters):
    if max_characters < 3:
        raise ValueError(
            "`max_characters` must be at least 3 (begin-word, a character, end-word). "
            f"Received: max_characters={max_characters}"
        )
    row = [BEGIN_WORD, *characters, END_WORD]
    return row + [WORD_PADDING] * (max_characters - len(row))


def check_range(low, high, num_characters=NUM_CHARACTERS):
    """Raises a `ValueError` where ids from `low` to `high` are not all padding or characters."""
    if low < 0 or high > num_characters:
        raise ValueError(
            f"Character ids must be from 0 (padding) to {num_characters}. "
            f"Received: ids from {low} to {high}"
        )


def encode(text):
    """The bytes of a text: UTF-8, and lone surrogates as the bytes they stand for.

    Args:
        text: `str`, or `bytes`, which are returned as they are.
    """
    if isinstance(text, bytes):
        return bytes(text)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that stands for no byte
        return text.encode("utf-8", "surrogatepass")


def word_to_ids(word, max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of one word.

    Args:
        word: `str`, encoded as UTF-8, or `bytes`, taken as they are. `"<S>"` and `"</S>"` have no
            special meaning here: the sentence boundaries come from `boundary_ids`.
        max_characters: int, at least 3. Length of the result.

    Returns:
        A list of `max_characters` ints.
    """
    return _row([byte + 1 for byte in encode(word)[: max_characters - 2]], max_characters)


def boundary_ids(max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of the sentence boundaries.

    Returns:
        A pair of lists of `max_characters` ints: begin of sentence, end of sentence.
    """
    return _row([BEGIN_SENTENCE], max_characters), _row([END_SENTENCE], max_characters)


def sentence_to_ids(words, max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of a sentence, its boundaries included.

    Args:
        words: sequence of `str` or `bytes`.
        max_characters: int, at least 3.

    Returns:
        A list of `len(words) + 2` lists of `max_characters` ints.
    """
    begin, end = boundary_ids(max_characters)
    return [begin, *(word_to_ids(word, max_characters) for word in words), end]
