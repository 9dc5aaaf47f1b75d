"""How a model sees words: its character scheme, inside the graph.

A scheme makes a row of ids of each word. A model has one of two: `ByteScheme`, that of the
original, or `DictionaryScheme`, that of ELMoForManyLangs. `character_scheme` is the only place that
chooses. Both have these:

- `ids_per_token`: int. The length of a row.
- `num_characters`, `num_words`: the largest ids of a row. Without a table of words, `num_words` is
  `None`; with one, the last id of a row is the word's.
- `word_padding`: int. The id that fills a word up.
- `boundaries`: NumPy array, int32, (2, ids_per_token). The rows of `<S>` and `</S>`.
- `ids`: a method of words, string (N,), to their rows, int32 (N, ids_per_token).
- `bytes_to_ids`: a function like `byte_ids` of a text's bytes, or `None` where there is none.
- `meaning`: str. What the ids are, for those who make them by other means.
- `tables`: the TensorFlow tables that `ids` reads. A SavedModel must hold them.
"""

import functools

import numpy as np

from keras_elmo import characters
from keras_elmo.text.byte_ids import byte_ids
from keras_elmo.text.character_ids import character_ids
from keras_elmo.text.dictionary_scheme import DictionaryScheme


def character_scheme(dictionary, max_characters):
    """The scheme of a model.

    Args:
        dictionary: a `Dictionary`, or `None`: characters are bytes.
        max_characters: int, at least 3. Characters of a word.
    """
    if dictionary is None:
        return ByteScheme(max_characters)
    return DictionaryScheme(dictionary, max_characters)


class ByteScheme:
    """The original's scheme: the ids of `keras_elmo.characters`.

    Args:
        max_characters: int, at least 3. Characters of a word.
    """

    num_characters = characters.NUM_CHARACTERS
    num_words = None
    word_padding = characters.WORD_PADDING
    meaning = "the ids of keras_elmo.characters"
    tables = ()

    def __init__(self, max_characters):
        self.ids_per_token = max_characters
        self.boundaries = np.array(characters.boundary_ids(max_characters), np.int32)
        self.bytes_to_ids = functools.partial(byte_ids, max_characters=max_characters)

    def ids(self, words):
        """See `character_ids`."""
        return character_ids(words, self.ids_per_token)
