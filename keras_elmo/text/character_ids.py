"""Tokens to character ids, inside the graph: bit for bit those of `keras_elmo.characters`."""

import tensorflow as tf

from keras_elmo import characters


def character_ids(tokens, max_characters=characters.DEFAULT_MAX_CHARACTERS):
    """The character ids of tokens.

    Any bytes are a token: invalid UTF-8, NUL bytes, an empty string. A token longer than
    `max_characters - 2` bytes is cut, inside a character if need be.

    Args:
        tokens: string, (N,).
        max_characters: int, at least 3.

    Returns:
        int32, (N, max_characters).

    Example:

    >>> character_ids(tf.constant(["a", "bc"]), max_characters=5).numpy()
    array([[259,  98, 260, 261, 261],
           [259,  99, 100, 260, 261]], dtype=int32)

    Reference: `keras_elmo.characters.word_to_ids`.
    """
    room = max_characters - 2
    data = tf.cast(tf.io.decode_raw(tokens, tf.uint8, fixed_length=room), tf.int32)
    lengths = tf.minimum(tf.strings.length(tokens), room)[:, None]  # bytes, (N, 1)
    position = tf.range(room)[None]
    body = tf.where(position < lengths, data + 1, characters.WORD_PADDING)
    body = tf.where(position == lengths, characters.END_WORD, body)  # (N, room)
    column = tf.ones_like(lengths)
    last = tf.where(lengths == room, characters.END_WORD, characters.WORD_PADDING)
    return tf.concat([column * characters.BEGIN_WORD, body, last], axis=1)


def boundary_character_ids(max_characters=characters.DEFAULT_MAX_CHARACTERS):
    """The character ids of the sentence boundaries.

    Returns:
        int32, (2, max_characters): begin of sentence, end of sentence.
    """
    return tf.constant(characters.boundary_ids(max_characters), tf.int32)
