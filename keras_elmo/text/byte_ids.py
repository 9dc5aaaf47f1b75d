"""Raw UTF-8 bytes to character ids by arithmetic alone, for graphs without strings (TFLite).

The tokens are those of `WhitespaceTokenizer`, and the ids those of `character_ids`.
"""

import tensorflow as tf

from keras_elmo import characters

SPACE = 32


def byte_ids(text, max_characters=characters.DEFAULT_MAX_CHARACTERS):
    """Splits texts on whitespace, Unicode's too, and gives the character ids of the tokens.

    Args:
        text: uint8, (batch, bytes). UTF-8 (any other bytes too), shorter texts padded at the end
            with spaces.
        max_characters: int, at least 3.

    Returns:
        ids: int32, (N, max_characters). The tokens of all texts, text by text.
        rows: int32, (N,). The text of each token.
        starts: int32, (N,). The byte of its text where it starts.
        ends: int32, (N,). The byte after its last.
    """
    # A space around each text: a token has a space before and after it, and the bytes that are
    # looked at beyond the last token are there.
    data = tf.pad(tf.cast(text, tf.int32), [[0, 0], [1, 1]], constant_values=SPACE)
    width = tf.shape(data)[1]
    is_space = _is_space(data)
    is_word = tf.logical_not(is_space)
    # Both are row by row, so the n-th start belongs to the n-th end.
    starts = tf.where(is_word[:, 1:] & is_space[:, :-1])
    ends = tf.where(is_space[:, 1:] & is_word[:, :-1])
    starts, ends = tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)
    rows, starts, ends = starts[:, 0], starts[:, 1], ends[:, 1]  # the padding before taken off

    room = max_characters - 2
    lengths = tf.minimum(ends - starts, room)[:, None]  # (N, 1)
    position = tf.range(room)[None]
    places = (rows * width + starts + 1)[:, None] + tf.minimum(position, lengths)
    body = tf.gather(tf.reshape(data, [-1]), places) + 1  # (N, room)
    body = tf.where(position < lengths, body, characters.WORD_PADDING)
    body = tf.where(position == lengths, characters.END_WORD, body)
    last = tf.where(lengths == room, characters.END_WORD, characters.WORD_PADDING)
    begin = tf.ones_like(lengths) * characters.BEGIN_WORD
    return tf.concat([begin, body, last], axis=1), rows, starts, ends


def _is_space(data):
    """Which bytes are part of whitespace, as Python's `str.split()` takes it.

    Args:
        data: int32, (batch, bytes), a space at the end of each row.
    """
    second = tf.pad(data[:, 1:], [[0, 0], [0, 1]])
    third = tf.pad(data[:, 2:], [[0, 0], [0, 2]])

    def within(x, low, high):
        return (x >= low) & (x <= high)

    # The lead byte of a character is never a later byte of another, so these do not overlap.
    one = within(data, 0x09, 0x0D) | within(data, 0x1C, 0x20)
    two = (data == 0xC2) & ((second == 0x85) | (second == 0xA0))  # U+0085, U+00A0
    in_2000 = within(third, 0x80, 0x8A) | within(third, 0xA8, 0xA9) | (third == 0xAF)
    three = (
        ((data == 0xE1) & (second == 0x9A) & (third == 0x80))  # U+1680
        | ((data == 0xE2) & (second == 0x80) & in_2000)  # U+2000-200A, U+2028, U+2029, U+202F
        | ((data == 0xE2) & (second == 0x81) & (third == 0x9F))  # U+205F
        | ((data == 0xE3) & (second == 0x80) & (third == 0x80))  # U+3000
    )
    # Each as a number: TFLite pads no booleans.
    lead = tf.cast(one, tf.int32) + 2 * tf.cast(two, tf.int32) + 3 * tf.cast(three, tf.int32)
    before = tf.pad(lead[:, :-1], [[0, 0], [1, 0]])
    before_that = tf.pad(lead[:, :-2], [[0, 0], [2, 0]])
    return (lead > 0) | (before > 1) | (before_that > 2)
