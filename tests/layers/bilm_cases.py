"""Layers and batches that the tests of `BiLM` share."""

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import BiLM

INITIALIZER = keras.initializers.RandomNormal(stddev=0.5, seed=3)


def make_pair(**kwargs):
    """A `BiLM` with the default loop, and one with `loop="rnn"` and the same weights."""
    kwargs = {"units": 12, "projection_dim": 5, "kernel_initializer": INITIALIZER, **kwargs}
    fast, plain = BiLM(**kwargs), BiLM(**kwargs, loop="rnn")
    for layer in (fast, plain):
        layer.build((None, None, layer.input_dim))
    for variable in fast.weights:
        variable.assign(np.random.normal(scale=0.5, size=variable.shape))
    plain.set_weights(fast.get_weights())
    return fast, plain


def make_batch(features, seed=0, rows=6, tokens=9, holes=False):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(rows, tokens, features)).astype(np.float32)
    lengths = rng.integers(0, tokens + 1, rows)
    mask = np.arange(tokens) < lengths[:, None]
    if holes:
        mask &= rng.random(mask.shape) < 0.6
    return tf.constant(inputs), tf.constant(mask)


def random_normal(shape):
    return tf.constant(np.random.normal(size=shape), tf.float32)
