"""`CharacterTokenizer`: each character is a token, for text without spaces between its words."""

import keras
import tensorflow as tf

from keras_elmo.text.whitespace_tokenizer import (
    WhitespaceTokenizer,
    blank_whitespace,
    cut_tokens,
)


@keras.saving.register_keras_serializable("keras_elmo")
class CharacterTokenizer(WhitespaceTokenizer):
    """Splits strings into their Unicode characters, without the spaces.

    This is for sequences such as proteins, whose letters are the tokens of SeqVec and catELMo, and
    for models of the characters of a language that is written without spaces. Bytes that are not
    UTF-8 are tokens, too.

    Args:
        ops: `"tensorflow-text"` or `"core"`. Both are the same here: TensorFlow's own operations.

    Example:

    >>> CharacterTokenizer().tokenize(["MKT V", "日本"])
    <tf.RaggedTensor [[b'M', b'K', b'T', b'V'], [b'\\xe6\\x97\\xa5', b'\\xe6\\x9c\\xac']]>
    """

    splits_on_spaces = False

    def _tokenize(self, strings):
        points, offsets = tf.strings.unicode_decode_with_offsets(
            blank_whitespace(strings), "UTF-8", errors="replace"
        )
        starts, rows = offsets.flat_values, offsets.value_rowids()  # (N,): of all characters
        # A character ends where the next one of its string begins, or with the string.
        lengths = tf.cast(tf.strings.length(strings), tf.int64)  # (batch,)
        is_last = tf.concat([rows[1:] != rows[:-1], [True]], 0)[: tf.size(rows)]
        following = tf.concat([starts[1:], [0]], 0)[: tf.size(rows)]
        ends = tf.where(is_last, tf.gather(lengths, rows), following)
        is_token = points.flat_values != ord(" ")
        row_lengths = tf.math.unsorted_segment_sum(
            tf.cast(is_token, tf.int64), rows, tf.size(strings)
        )
        return cut_tokens(strings, row_lengths, starts[is_token], ends[is_token])
