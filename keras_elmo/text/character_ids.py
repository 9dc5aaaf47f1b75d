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


def check_character_ids(ids, max_characters):
    """Character ids as int32, checked.

    Args:
        ids: integers, (batch, tokens, max_characters); padding tokens, all 0, at the end of a row.
        max_characters: int.

    Raises:
        TypeError: the ids are no integers.
        ValueError: their shape, or (where values are at hand) a value is not as said above.
    """
    ids = tf.convert_to_tensor(ids)
    if not ids.dtype.is_integer:
        raise TypeError(f"Character ids must be integers. Received: dtype {ids.dtype.name}")
    if ids.shape.rank != 3 or ids.shape[-1] != max_characters:
        raise ValueError(
            f"Character ids must have shape (batch, tokens, {max_characters}). "
            f"Received: shape {tuple(ids.shape)}"
        )
    ids = tf.cast(ids, tf.int64)
    if tf.executing_eagerly() and tf.size(ids) > 0:
        characters.check_range(int(tf.reduce_min(ids)), int(tf.reduce_max(ids)))
        is_token = tf.reduce_any(ids > 0, axis=-1)
        if tf.reduce_any(is_token[:, 1:] & ~is_token[:, :-1]):
            raise ValueError(
                "Padding (tokens whose ids are all 0) must come after the tokens of a sentence. "
                "Received: a token after padding"
            )
    return tf.cast(ids, tf.int32)
