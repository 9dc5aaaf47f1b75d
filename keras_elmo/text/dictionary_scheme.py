"""`DictionaryScheme`: words to ids by the dictionary of a model, inside the graph."""

import numpy as np

from keras_elmo.backend import ON_TENSORFLOW, Module, tf
from keras_elmo.characters import Dictionary
from keras_elmo.text.byte_ids import add_word_marks

_BOUNDARIES = (Dictionary.BEGIN_SENTENCE, Dictionary.END_SENTENCE)


class DictionaryScheme(Module):
    """The scheme of ELMoForManyLangs: the ids of a `Dictionary`. Its names are as in `ByteScheme`.

    A plain-Python reference is `Dictionary.word_to_ids`.
    """

    bytes_to_ids = None  # a word cannot be looked up without strings
    meaning = "the ids of keras_elmo.characters.Dictionary, by the dictionary in the options"

    def __init__(self, dictionary, max_characters):
        super().__init__()
        self._dictionary = dictionary
        self._max_characters = max_characters
        self.num_characters = len(dictionary.characters)
        self.num_words = dictionary.num_words
        self.ids_per_token = max_characters + (self.num_words is not None)
        self.boundaries = np.array(dictionary.boundary_ids(max_characters), np.int32)
        ids = dictionary.id_of_character
        self.word_padding, self._unknown = ids[Dictionary.WORD_PADDING], ids[Dictionary.UNKNOWN]
        self._begin_word, self._end_word = ids[Dictionary.BEGIN_WORD], ids[Dictionary.END_WORD]
        ids = {ord(character): k for character, k in ids.items() if len(character) == 1}
        # What is not UTF-8 becomes a code point that no dictionary has: a noncharacter.
        self._replacement = next(point for point in range(0x10FFFF, 0, -1) if point not in ids)
        ids[self._replacement] = self._unknown
        self._code_points = np.array(sorted(ids), np.int32)  # (entries,)
        self._ids = np.array([ids[point] for point in sorted(ids)], np.int32)
        self.tables = []
        if self.num_words is not None and ON_TENSORFLOW:
            known = dictionary.id_of_word
            with tf.init_scope():
                initializer = tf.lookup.KeyValueTensorInitializer(
                    [word.encode() for word in known], tf.constant(list(known.values()), tf.int32)
                )
                table = tf.lookup.StaticHashTable(initializer, known[Dictionary.UNKNOWN])
            self.tables = [table]

    def ids(self, words):
        """Words of any bytes to their rows. What is not UTF-8 is an unknown character."""
        room = self._max_characters - 2
        # A first, generous cut, since invalid bytes are more characters in `unicode_decode`.
        words = tf.strings.substr(words, 0, room, unit="UTF8_CHAR")
        points = tf.strings.unicode_decode(
            words, "UTF-8", errors="replace", replacement_char=self._replacement
        )
        points = points[:, :room]  # (N, None)
        body = points.with_flat_values(self._find(points.flat_values))
        body = body.to_tensor(shape=[None, room])  # (N, room)
        lengths = tf.cast(points.row_lengths(), tf.int32)[:, None]  # (N, 1)
        rows = add_word_marks(body, lengths, self._begin_word, self._end_word, self.word_padding)
        words = tf.strings.unicode_encode(points, "UTF-8")  # as they were cut
        rows = tf.concat([rows, *(table.lookup(words)[:, None] for table in self.tables)], axis=1)
        for mark, row in zip(_BOUNDARIES, self.boundaries, strict=True):
            rows = tf.where((words == mark)[:, None], row, rows)
        return rows

    def rows(self, words):
        """`ids` of a list of `str` or `bytes`, in NumPy."""
        return self._dictionary.words_to_ids(words, self._max_characters)

    def _find(self, points):
        """Code points, int32 (M,), to the ids of characters."""
        index = tf.searchsorted(self._code_points, points)
        index = tf.minimum(index, len(self._code_points) - 1)
        is_found = tf.gather(self._code_points, index) == points
        return tf.where(is_found, tf.gather(self._ids, index), self._unknown)
