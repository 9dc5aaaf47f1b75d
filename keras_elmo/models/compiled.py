"""Layers of which XLA compiles the calls, on shapes that repeat.

XLA compiles anew for each shape. So the leading axes of the inputs are padded to a bucket, and the
outputs are cut to what the inputs had. Rows of padding change no other row. Gradients do not pass.
"""

import contextlib
import threading

import tensorflow as tf

from keras_elmo.layers.matmul import using_matmul_dtype

_SMALLEST_BUCKET = 8


class _Switch(threading.local):
    """Whether a thread's calls may be compiled."""

    is_on = True


_switch = _Switch()


@contextlib.contextmanager
def without_xla():
    """A context in which this thread's calls are not compiled."""
    before, _switch.is_on = _switch.is_on, False
    try:
        yield
    finally:
        _switch.is_on = before


class CompiledEncoder(tf.Module):
    """A character encoder, compiled while it is frozen: XLA's loops have no gradient.

    Args:
        encoder: the built `CharCNNEmbedding`.
        is_enabled: bool. `False`: it is never compiled.
        rounding: the model's `KernelRounding`, in which it multiplies.
    """

    def __init__(self, encoder, is_enabled, rounding):
        super().__init__()
        self.encoder, self.is_enabled, self.rounding = encoder, is_enabled, rounding

        def run(ids, groups, training, matmul_dtype):
            with using_matmul_dtype(matmul_dtype):
                return encoder(ids, trim_characters=False, groups=groups, training=training)

        self.compiled = _compile(run)

    def __call__(self, ids, groups=1, training=None):
        """Calls the encoder with character ids, int32, (words, characters)."""
        if not self.is_enabled or self.encoder.trainable or not _switch.is_on:
            with self.rounding.context():
                return self.encoder(ids, groups=groups, training=training)
        ids_in_bucket = pad_to_buckets(ids, axes=[0])
        embeddings = self.compiled(ids_in_bucket, groups, bool(training), self.rounding.dtype)
        return embeddings[: tf.shape(ids)[0]]


class CompiledBiLM(tf.Module):
    """A biLM, compiled while it is frozen. XLA takes only the loop `"rnn"`.

    Args:
        bilm: the built `BiLM`, with `return_state=True`.
        is_enabled, rounding: see `CompiledEncoder`.
    """

    def __init__(self, bilm, is_enabled, rounding):
        super().__init__()
        self.bilm, self.is_enabled, self.rounding = bilm, is_enabled, rounding

        def run(inputs, mask, initial_state, boundaries, matmul_dtype):
            with bilm.using_loop("rnn"), using_matmul_dtype(matmul_dtype):
                return bilm(inputs, mask, initial_state, boundaries)

        self.compiled = _compile(run)

    def __call__(self, inputs, mask, initial_state=None, boundaries=None):
        """Calls the biLM; see the call arguments of `BiLM`."""
        if not self.is_enabled or self.bilm.trainable or not _switch.is_on:
            with self.rounding.context():
                return self.bilm(inputs, mask, initial_state, boundaries)
        batch, tokens = tf.unstack(tf.shape(mask))
        if initial_state is not None:
            initial_state = [pad_to_buckets(tensor, axes=[0]) for tensor in initial_state]
        layers, state = self.compiled(
            pad_to_buckets(inputs, axes=[0, 1]),
            pad_to_buckets(mask, axes=[0, 1]),
            initial_state,
            boundaries,
            self.rounding.dtype,
        )
        return [layer[:batch, :tokens] for layer in layers], [rows[:batch] for rows in state]


def _compile(function):
    return tf.function(function, jit_compile=True, reduce_retracing=True, autograph=False)


def pad_to_buckets(tensor, axes):
    """Zeros (or `False`) at the end of some axes, up to the next bucket."""
    shape = tf.shape(tensor)
    after = [bucket(shape[k]) - shape[k] if k in axes else 0 for k in range(tensor.shape.rank)]
    return tf.pad(tensor, [[0, count] for count in after])


def bucket(size):
    """The next of 8, 12, 16, 24, 32, 48, ...: above 8 it is at most 1.5 times `size`.

    Args:
        size: int32 scalar.
    """
    power = tf.constant(_SMALLEST_BUCKET)
    power = tf.while_loop(lambda p: 2 * p <= size, lambda p: [2 * p], [power])[0]
    middle = power + power // 2
    return tf.where(size <= power, power, tf.where(size <= middle, middle, 2 * power))
