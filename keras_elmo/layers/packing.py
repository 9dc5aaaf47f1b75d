"""`Packing`: where the real tokens of a padded batch are, sorted by the step that reads them.

The packed form, of N real tokens: step t of a batch is a block of rows, one for each sequence that
is longer than t, longest sequence first; the blocks follow one another. So each step reads and
writes a contiguous slice, sequences leave at the end of the block as they end, and padding is
neither stored nor computed.
"""

from typing import NamedTuple


class Packing(NamedTuple):
    """Where the real tokens of a batch are in packed form (TensorFlow tensors).

    Attributes:
        positions: int64, (N, 2). Row and column of each real token, row by row.
        forward: int32, (N,). Its place in the packed form of the forward direction.
        backward: int32, (N,). The same when each sequence is read from its end.
        order: int32, (batch,). The rows, longest first.
        lengths: int32, (batch,). Real tokens of each row, in `order`.
        alive: int32, (steps + 1,). Rows longer than t; 0 at the end.
        offsets: int32, (steps + 1,). First packed place of step t.
    """

    positions: object
    forward: object
    backward: object
    order: object
    lengths: object
    alive: object
    offsets: object


def pack(mask):
    """The `Packing` of a mask.

    Args:
        mask: bool, (batch, tokens), a TensorFlow tensor. Real tokens may be anywhere in a row;
            what is masked is passed over.
    """
    import tensorflow as tf

    count = tf.cast(mask, tf.int32)
    row_lengths = tf.reduce_sum(count, axis=1)
    order = tf.argsort(row_lengths, direction="DESCENDING", stable=True)
    rank = tf.math.invert_permutation(order)
    lengths = tf.gather(row_lengths, order)
    steps = tf.reduce_max(tf.concat([lengths, [0]], 0))
    # alive[t] = number of lengths above t; `lengths` descends, so search its negation.
    alive = tf.searchsorted(-lengths, -tf.range(steps + 1), side="left")
    offsets = tf.cumsum(alive, exclusive=True)
    positions = tf.where(mask)
    row = tf.cast(positions[:, 0], tf.int32)
    step = tf.gather_nd(tf.cumsum(count, axis=1), positions) - 1
    place = tf.gather(rank, row)
    from_end = tf.gather(row_lengths, row) - 1 - step
    return Packing(
        positions=positions,
        forward=tf.gather(offsets, step) + place,
        backward=tf.gather(offsets, from_end) + place,
        order=order,
        lengths=lengths,
        alive=alive,
        offsets=offsets,
    )
