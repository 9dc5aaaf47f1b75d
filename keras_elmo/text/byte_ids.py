"""Raw UTF-8 bytes to character ids by arithmetic alone, for graphs without strings (TFLite).

The tokens are those of `WhitespaceTokenizer`, and the ids those of `character_ids`.
"""

from keras_elmo import characters
from keras_elmo.backend import tf

SPACE = 32


def byte_ids(text, max_characters=characters.DEFAULT_MAX_CHARACTERS):
    """The character ids of the tokens of texts, uint8 (batch, bytes), padded with spaces.

    The results are int32: the ids, (N, max_characters), text by text; and of each token, (N,), the
    row of its text, the index of its first byte there, and that of the byte after its last.
    """
    # With a space before and after each text, every token has one on both sides.
    data = tf.cast(text, tf.int32)
    data = tf.pad(data, [[0, 0], [1, 1]], constant_values=SPACE)  # (batch, width)
    width = tf.shape(data)[1]
    is_space = _is_space(data)  # (batch, width)
    is_word = tf.logical_not(is_space)
    # Both are in the order of the rows, so the n-th start belongs to the n-th end.
    starts = tf.where(is_word[:, 1:] & is_space[:, :-1])  # (N, 2): row and byte
    ends = tf.where(is_space[:, 1:] & is_word[:, :-1])
    starts, ends = tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)
    rows, starts, ends = starts[:, 0], starts[:, 1], ends[:, 1]  # indices without the space before

    room = max_characters - 2
    lengths = tf.minimum(ends - starts, room)[:, None]  # (N, 1)
    byte_index = (rows * width + starts + 1)[:, None] + tf.minimum(tf.range(room)[None], lengths)
    body = tf.gather(tf.reshape(data, [-1]), byte_index) + 1  # (N, room)
    return add_word_marks(body, lengths), rows, starts, ends


def add_word_marks(
    body,
    lengths,
    begin_word=characters.BEGIN_WORD,
    end_word=characters.END_WORD,
    word_padding=characters.WORD_PADDING,
):
    """Puts the ids of words between begin-word and end-word, with word padding after that.

    The body is (N, max_characters - 2), and each word has the first `lengths`, (N, 1), of its ids.
    """
    position = tf.range(body.shape[1])[None]
    body = tf.where(position < lengths, body, word_padding)
    body = tf.where(position == lengths, end_word, body)
    last = tf.where(lengths == body.shape[1], end_word, word_padding)
    return tf.concat([tf.ones_like(lengths) * begin_word, body, last], axis=1)


def _is_space(data):
    """Whether each byte is part of a space of `str.split()`. Each row must end with a space."""
    second = tf.pad(data[:, 1:], [[0, 0], [0, 1]])
    third = tf.pad(data[:, 2:], [[0, 0], [0, 2]])

    def within(x, low, high):
        return (x >= low) & (x <= high)

    # The first byte of a character is never a later byte of another one: no two matches overlap.
    one = within(data, 0x09, 0x0D) | within(data, 0x1C, 0x20)
    two = (data == 0xC2) & ((second == 0x85) | (second == 0xA0))  # U+0085, U+00A0
    in_2000 = within(third, 0x80, 0x8A) | within(third, 0xA8, 0xA9) | (third == 0xAF)
    three = (
        ((data == 0xE1) & (second == 0x9A) & (third == 0x80))  # U+1680
        | ((data == 0xE2) & (second == 0x80) & in_2000)  # U+2000-200A, U+2028, U+2029, U+202F
        | ((data == 0xE2) & (second == 0x81) & (third == 0x9F))  # U+205F
        | ((data == 0xE3) & (second == 0x80) & (third == 0x80))  # U+3000
    )
    # The length of the space that begins at each byte, or 0. (TFLite cannot pad booleans.)
    lead = tf.cast(one, tf.int32) + 2 * tf.cast(two, tf.int32) + 3 * tf.cast(three, tf.int32)
    before = tf.pad(lead[:, :-1], [[0, 0], [1, 0]])
    before_that = tf.pad(lead[:, :-2], [[0, 0], [2, 0]])
    return (lead > 0) | (before > 1) | (before_that > 2)
