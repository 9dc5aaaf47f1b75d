"""Layers and batches that the tests of the loops share, and the comparison with `RNNLoop`.

Most of these tests run the loops eagerly, since tracing a graph takes seconds.
"""

import keras
import numpy as np
import tensorflow as tf

from keras_elmo.layers import ProjectedLSTMCell
from keras_elmo.layers.loops.rnn import RNNLoop


def make_layers(seed):
    """A forward and a backward `keras.layers.RNN` of random size, with random weights and clips."""
    rng = np.random.default_rng(seed)
    units = int(rng.integers(2, 9))
    projection_dim = [None, int(rng.integers(1, units + 2))][rng.integers(2)]
    cell_clip, projection_clip = ([None, 0.2, 0.5][k] for k in rng.integers(0, 3, 2))
    layers = []
    for go_backwards in (False, True):
        has_projection = projection_dim is not None
        cell = ProjectedLSTMCell(units, projection_dim, cell_clip, projection_clip, has_projection)
        options = {"return_sequences": True, "return_state": True, "zero_output_for_mask": True}
        layer = keras.layers.RNN(cell, **options, go_backwards=go_backwards)
        layer.build((None, None, cell.output_size))
        for variable in layer.weights:
            variable.assign(rng.normal(scale=0.5, size=variable.shape))
        layers.append(layer)
    return layers


def make_mask(seed, rows=None, tokens=None):
    """A random mask: one with holes, or one with padding at the end. Rows may be empty."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 7)) if rows is None else rows
    tokens = int(rng.integers(1, 10)) if tokens is None else tokens
    if rng.integers(2):
        return rng.random((rows, tokens)) < 0.6
    return np.arange(tokens) < rng.integers(0, tokens + 1, rows)[:, None]


def make_inputs(layers, mask, seed):
    """Random inputs and states of both directions: 2 tensors, and 2 pairs `(m, c)`."""
    rng = np.random.default_rng(seed)

    def tensor(*shape):
        return tf.constant(rng.normal(size=shape), tf.float32)

    rows, tokens = mask.shape
    cells = [layer.cell for layer in layers]
    inputs = [tensor(rows, tokens, cell.output_size) for cell in cells]
    return inputs, [(tensor(rows, cell.output_size), tensor(rows, cell.units)) for cell in cells]


class ReversedLoop(RNNLoop):
    """`RNNLoop` with its backward direction in the order of reading. Real tokens come first."""

    def enter(self, directions):
        return super().enter(self._reversed(directions))

    def leave(self, directions):
        return super().leave(self._reversed(directions))

    def _reversed(self, directions):
        lengths = tf.math.count_nonzero(self.mask, axis=1)
        return [directions[0], tf.reverse_sequence(directions[1], lengths, 1)]


def run(loop, layers, inputs, states):
    """Runs one layer. Returns outputs and states, and all gradients of a function of both."""
    variables = [variable.value for layer in layers for variable in layer.trainable_variables]
    sources = [*inputs, *(tensor for pair in states for tensor in pair)]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        outputs, final_states = loop.run_layer(layers, loop.enter(inputs), states)
        results = [loop.leave(outputs), *(tensor for pair in final_states for tensor in pair)]
        loss = sum(tf.reduce_sum(tf.sin(3 * tensor)) for tensor in results)
    gradients = tape.gradient(loss, [*sources, *variables], unconnected_gradients="zero")
    return results, [tf.convert_to_tensor(gradient) for gradient in gradients]


def assert_same(actual, expected):
    """Compares two results of `run`."""
    for one, other in zip(actual[0], expected[0], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for one, other in zip(actual[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5, rtol=1e-4)
