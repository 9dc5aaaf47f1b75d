"""The two schemes of character ids, in Python and NumPy: the reference for `keras_elmo.text`.

In the original's scheme a word is a row of `max_characters` ids: begin-word, the UTF-8 bytes of the
word (id = byte + 1), end-word, and then word padding. A word of more than `max_characters - 2`
bytes is cut there, even in the middle of a character. Id 0 is not a character: a row of zeros
stands for a padding token.

Reference: `UnicodeCharsVocabulary` in bilm-tf's `bilm/data.py`, where the ids are shifted by one
when a batch is made. `Dictionary` is the scheme of ELMoForManyLangs.
"""

import codecs
import collections
import dataclasses
import functools

import numpy as np

from keras_elmo.checks import join_names, short_repr
from keras_elmo.splitting import text_to_bytes

BEGIN_SENTENCE = 257
END_SENTENCE = 258
BEGIN_WORD = 259
END_WORD = 260
WORD_PADDING = 261
NUM_CHARACTERS = 261  # the ids 1 to 261; padding (0) is not a character
DEFAULT_MAX_CHARACTERS = 50

BOS = "<S>"
EOS = "</S>"


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


def token_spans_of_texts(texts, tokenizer):
    """For each text, where the tokens of a tokenizer are: lists of pairs, in characters."""
    if not hasattr(tokenizer, "tokenize_with_offsets"):
        rule = "must have a method `tokenize_with_offsets`"
        raise ValueError(f"`tokenizer` {rule}. Received: tokenizer={tokenizer!r}")
    _, *offsets = tokenizer.tokenize_with_offsets([text_to_bytes(text) for text in texts])
    spans = []
    for text, *edges in zip(texts, *(offset.to_list() for offset in offsets), strict=True):
        # By the index of a byte, the character that it belongs to; and at the end, their number.
        sizes = [len(text_to_bytes(character)) for character in text]
        character_at = np.repeat(np.arange(len(text) + 1), [*sizes, 1])
        spans.append(list(zip(*(character_at[edge].tolist() for edge in edges), strict=True)))
    return spans


def word_to_ids(word, max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of one word, `str` or `bytes`: a list of `max_characters` ints.

    `"<S>"` and `"</S>"` have no special meaning here: see `boundary_ids`.
    """
    ids = [byte + 1 for byte in text_to_bytes(word)[: max_characters - 2]]
    return _add_word_marks(ids, max_characters)


def words_to_ids(words, max_characters=DEFAULT_MAX_CHARACTERS):
    """`word_to_ids` of a list of words, at once: int32, (words, max_characters)."""
    room = max_characters - 2
    words = [text_to_bytes(word)[:room] for word in words]
    lengths = np.fromiter(map(len, words), np.int32)
    data = np.array(words, f"S{room}").view(np.uint8).reshape(len(words), room)
    rows = np.full((len(words), max_characters), WORD_PADDING, np.int32)
    rows[:, 0] = BEGIN_WORD
    np.add(data, 1, out=rows[:, 1:-1], where=np.arange(room) < lengths[:, None], dtype=np.int32)
    rows[np.arange(len(words)), lengths + 1] = END_WORD
    return rows


def boundary_ids(max_characters=DEFAULT_MAX_CHARACTERS):
    """The character ids of the sentence boundaries, begin and end: a pair of lists of ints."""
    marks = BEGIN_SENTENCE, END_SENTENCE
    return tuple(_add_word_marks([mark], max_characters) for mark in marks)


# What is not UTF-8 becomes lone surrogates, which no dictionary holds: one for each run of bytes
# that Unicode's standard says to replace by one character.
_ONE_UNKNOWN = "keras_elmo.one_unknown"
codecs.register_error(_ONE_UNKNOWN, lambda error: ("\udcff", error.end))


@dataclasses.dataclass(frozen=True)
class Dictionary:
    """The scheme of ELMoForManyLangs: characters, and the words of a word table, by their numbers.

    It differs from the original's scheme in this:

    - Characters are Unicode code points, which a dictionary numbers; what it lacks is `<oov>`. A
      word is cut to `max_characters - 2` code points.
    - A word begins with `<eow>` and ends with `<bow>`: the original implementation has the two
      marks swapped, so all models were trained that way.
    - A model may have a table of words, too. Then the last id of a row is the word's, by the word
      as it was cut.
    - The words `<bos>` and `<eos>` are the sentence boundaries, also where they occur in a text.

    The id of a character, or of a word, is its number in the dictionary plus 1. Id 0 is neither: a
    row of zeros stands for a padding token.

    Reference: `create_one_batch` in ELMoForManyLangs' elmoformanylangs/frontend.py.

    `None` is a number that stands for nothing. Without `words` there is no word table. A
    `ValueError` says that they are not distinct, or lack the marks above, or `<oov>` of the words.
    """

    # Marks, which the characters of each dictionary must hold.
    BEGIN_SENTENCE = "<bos>"
    END_SENTENCE = "<eos>"
    BEGIN_WORD = "<eow>"
    END_WORD = "<bow>"
    UNKNOWN = "<oov>"
    WORD_PADDING = "<pad>"
    MARKS = (BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, UNKNOWN, WORD_PADDING)

    characters: tuple
    words: tuple | None = None

    def __post_init__(self):
        object.__setattr__(self, "characters", _checked("characters", self.characters, self.MARKS))
        if self.words is not None:
            object.__setattr__(self, "words", _checked("words", self.words, [self.UNKNOWN]))

    def __repr__(self):
        words = "no words" if self.words is None else f"{len(self.words):,} words"
        return f"<Dictionary: {len(self.characters):,} characters, {words}>"

    @property
    def num_words(self):
        """Rows of the word table, or `None` without one."""
        return None if self.words is None else len(self.words)

    def word_to_ids(self, word, max_characters):
        """The ids of one word, `str` or `bytes`, a list of `max_characters` ints, and of one more
        with a word table. Bytes that are not UTF-8 are unknown characters.
        """
        word = text_to_bytes(word).decode("utf-8", _ONE_UNKNOWN)[: max_characters - 2]
        is_boundary = word in (self.BEGIN_SENTENCE, self.END_SENTENCE)
        return self._row([word] if is_boundary else word, word, max_characters)

    def words_to_ids(self, words, max_characters):
        """`word_to_ids` of a list of words: int32, (words, ids)."""
        rows = [self.word_to_ids(word, max_characters) for word in words]
        num_ids = max_characters + (self.words is not None)
        return np.array(rows, np.int32).reshape(len(words), num_ids)

    def boundary_ids(self, max_characters):
        """The ids of the sentence boundaries, begin and end: a pair of lists."""
        marks = (self.BEGIN_SENTENCE, self.END_SENTENCE)
        return tuple(self._row([mark], mark, max_characters) for mark in marks)

    def _row(self, characters, word, max_characters):
        row = [self.BEGIN_WORD, *characters, self.END_WORD]
        row += [self.WORD_PADDING] * (max_characters - len(row))
        ids = _find(row, self.id_of_character)
        return ids if self.words is None else ids + _find([word], self.id_of_word)

    @functools.cached_property
    def id_of_character(self):
        return _ids(self.characters)

    @functools.cached_property
    def id_of_word(self):
        return _ids(self.words)

    def to_options(self):
        words = None if self.words is None else list(self.words)
        return {"characters": list(self.characters), "words": words}

    @classmethod
    def from_options(cls, options):
        """The dictionary of what `to_options` returns, or a `ValueError`."""
        if not isinstance(options, dict) or options.keys() != {"characters", "words"}:
            raise ValueError(
                "`dictionary` must be an object with `characters` and `words`. "
                f"Received: {short_repr(options)}"
            )
        return cls(**options)


def _ids(entries):
    return {entry: index for index, entry in enumerate(entries, start=1) if entry is not None}


def _find(tokens, ids):
    return [ids.get(token, ids[Dictionary.UNKNOWN]) for token in tokens]


def _checked(name, entries, needed):
    """The entries of a dictionary as a tuple, or a `ValueError` where they are something else."""
    is_sequence = isinstance(entries, list | tuple)
    if not is_sequence or not all(entry is None or isinstance(entry, str) for entry in entries):
        raise ValueError(
            f"`{name}` must be a list of strings, by their numbers. Received: {short_repr(entries)}"
        )
    known = [entry for entry in entries if entry is not None]
    if len(set(known)) != len(known):
        twice = [entry for entry, count in collections.Counter(known).items() if count > 1]
        raise ValueError(f"`{name}` must be distinct. Received: {join_names(twice)} more than once")
    if missing := sorted(set(needed) - set(known)):
        raise ValueError(
            f"`{name}` must hold {', '.join(needed)}. Received: none of {', '.join(missing)}"
        )
    return tuple(entries)
