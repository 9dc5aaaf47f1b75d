"""`BatchState`: the LSTM state that a stateful model keeps from batch to batch."""

import tensorflow as tf


class BatchState(tf.Module):
    """A state for each row of a batch, zeros at first.

    Args:
        sizes: list of ints, the width of each tensor of the state.
        dtype: of the state.

    Reference: `init_lstm_state` in bilm-tf's bilm/model.py. There a batch may have 128 rows at
    most; here any number.
    """

    def __init__(self, sizes, dtype):
        super().__init__()
        self.tensors = [
            tf.Variable(tf.zeros((0, size), dtype), shape=(None, size), trainable=False)
            for size in sizes
        ]

    def read(self, batch_size):
        """The first `batch_size` rows of each tensor; rows never written are zeros."""
        kept = [variable[:batch_size] for variable in self.tensors]
        return [tf.pad(rows, [[0, batch_size - tf.shape(rows)[0]], [0, 0]]) for rows in kept]

    def write(self, state):
        """Replaces the first rows. Rows that a smaller batch does not have keep their values."""
        for variable, rows in zip(self.tensors, state, strict=True):
            variable.assign(tf.concat([rows, variable[tf.shape(rows)[0] :]], 0))

    def reset(self):
        """Back to zeros."""
        for variable in self.tensors:
            variable.assign(tf.zeros((0, variable.shape[1]), variable.dtype))
