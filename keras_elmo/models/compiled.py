"""`CompiledFunction`: calls of a layer compiled by XLA, on shapes that repeat."""

import tensorflow as tf

_FINEST = 8


class CompiledFunction(tf.Module):
    """Calls a function of tensors through XLA.

    XLA compiles anew for each shape, so the leading axes of the inputs are padded to a bucket, and
    the outputs are cut to what was asked for. The function must accept padding: rows of zeros whose
    outputs do not matter, and which change no other row. Gradients do not pass.

    Args:
        function: a function that calls built Keras layers in a way that XLA can compile.
    """

    def __init__(self, function):
        super().__init__()
        self.compiled = tf.function(
            function, jit_compile=True, reduce_retracing=True, autograph=False
        )

    def tokens(self, ids):
        """A layer over tokens: (words, characters) -> (words, features)."""
        return self.compiled(pad_to_buckets(ids, axes=[0]))[: tf.shape(ids)[0]]

    def sequences(self, inputs, mask, initial_state=None, boundaries=None):
        """A `BiLM` that returns its state, over (batch, tokens, features)."""
        batch, tokens = tf.unstack(tf.shape(mask))
        if initial_state is not None:
            initial_state = [pad_to_buckets(tensor, axes=[0]) for tensor in initial_state]
        layers, state = self.compiled(
            pad_to_buckets(inputs, axes=[0, 1]),
            mask=pad_to_buckets(mask, axes=[0, 1]),
            initial_state=initial_state,
            boundaries=boundaries,
        )
        return [layer[:batch, :tokens] for layer in layers], [rows[:batch] for rows in state]


def pad_to_buckets(tensor, axes):
    """Zeros (or `False`) at the end of some axes, up to the next bucket."""
    shape = tf.shape(tensor)
    after = [bucket(shape[k]) - shape[k] if k in axes else 0 for k in range(tensor.shape.rank)]
    return tf.pad(tensor, [[0, count] for count in after])


def bucket(size):
    """The next of 8, 12, 16, 24, 32, 48, ...: half more than `size` at most, above 8.

    Args:
        size: int32 scalar.
    """
    power = tf.constant(_FINEST)
    power = tf.while_loop(lambda p: 2 * p <= size, lambda p: [2 * p], [power])[0]
    middle = power + power // 2
    return tf.where(size <= power, power, tf.where(size <= middle, middle, 2 * power))
