"""`Dictionary`: the character-id scheme of ELMoForManyLangs, in plain Python.

It stands beside the original's scheme (`keras_elmo.characters`), and differs from it in this:

- Characters are Unicode code points, which a dictionary numbers; what it lacks is `<oov>`. A word
  is cut to `max_characters - 2` code points.
- A word begins with `<eow>` and ends with `<bow>`: the original implementation has the two marks
  swapped, so all models were trained that way.
- A model may have a table of words, too. Then the last id of a row is the word's, by the word as it
  was cut.
- The words `<bos>` and `<eos>` are the sentence boundaries, also where they occur in a text.

The id of a character, or of a word, is its number in the dictionary plus 1. Id 0 is neither: a row
of zeros stands for a padding token.

Reference: `create_one_batch` in ELMoForManyLangs' elmoformanylangs/frontend.py.
"""

import codecs
import collections
import dataclasses

from keras_elmo.characters import text_to_bytes
from keras_elmo.checks import join_names, short_repr

BEGIN_SENTENCE = "<bos>"
END_SENTENCE = "<eos>"
BEGIN_WORD = "<eow>"
END_WORD = "<bow>"
UNKNOWN = "<oov>"
WORD_PADDING = "<pad>"

_MARKS = (BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, UNKNOWN, WORD_PADDING)

# What is not UTF-8 becomes lone surrogates, which no dictionary holds: one for each run of bytes
# that Unicode's standard says to replace by one character.
_ONE_UNKNOWN = "keras_elmo.one_unknown"
codecs.register_error(_ONE_UNKNOWN, lambda error: ("\udcff", error.end))


@dataclasses.dataclass(frozen=True)
class Dictionary:
    """The characters of a model, and the words of its word table, each by its number.

    `None` is a number that stands for nothing. Without `words` there is no word table. A
    `ValueError` says that they are not distinct, or lack the marks above, or `<oov>` of the words.
    """

    characters: tuple
    words: tuple | None = None

    def __post_init__(self):
        object.__setattr__(self, "characters", _checked("characters", self.characters, _MARKS))
        if self.words is not None:
            object.__setattr__(self, "words", _checked("words", self.words, [UNKNOWN]))

    def __repr__(self):
        words = "no words" if self.words is None else f"{len(self.words):,} words"
        return f"<Dictionary: {len(self.characters):,} characters, {words}>"

    @property
    def num_words(self):
        """Rows of the word table, or `None` without one."""
        return None if self.words is None else len(self.words)

    def character_id(self, character):
        """The id of a character of the dictionary, such as `WORD_PADDING`."""
        return self.characters.index(character) + 1

    def word_to_ids(self, word, max_characters):
        """The ids of one word, `str` or `bytes`, a list of `max_characters` ints, and of one more
        with a word table. Bytes that are not UTF-8 are unknown characters.
        """
        word = text_to_bytes(word).decode("utf-8", _ONE_UNKNOWN)[: max_characters - 2]
        is_boundary = word in (BEGIN_SENTENCE, END_SENTENCE)
        return self._row([word] if is_boundary else word, word, max_characters)

    def boundary_ids(self, max_characters):
        """The ids of the sentence boundaries, begin and end: a pair of lists."""
        marks = (BEGIN_SENTENCE, END_SENTENCE)
        return tuple(self._row([mark], mark, max_characters) for mark in marks)

    def _row(self, characters, word, max_characters):
        row = [BEGIN_WORD, *characters, END_WORD]
        row += [WORD_PADDING] * (max_characters - len(row))
        ids = _ids(row, self.characters)
        return ids if self.words is None else ids + _ids([word], self.words)

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


def _ids(tokens, entries):
    numbers = {entry: number for number, entry in enumerate(entries)}
    return [numbers.get(token, numbers[UNKNOWN]) + 1 for token in tokens]


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
