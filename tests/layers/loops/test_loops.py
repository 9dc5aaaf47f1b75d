"""Every loop gives what `RNNLoop` gives: outputs, states and gradients, on random numbers."""

import numpy as np
import pytest
import tensorflow as tf
from layers.bilm_cases import make_batch, make_pair

from keras_elmo.layers.loops import find_loop
from keras_elmo.layers.loops.packed import PackedLoop
from keras_elmo.layers.loops.rnn import RNNLoop
from keras_elmo.layers.loops.unrolled import UnrolledLoop

CASES = {
    "clips": {"cell_clip": 0.4, "projection_clip": 0.2},
    "three layers": {"num_layers": 3, "use_skip_connections": False},
    "no projection": {"projection_dim": None, "num_layers": 1},
}


@pytest.fixture(scope="module", params=CASES)
def layers(request):
    """A `BiLM` for the loop under test, and one with the same weights that uses `RNNLoop`."""
    return make_pair(**CASES[request.param], return_state=True)


def results(layer, loop, inputs, mask, state):
    """Outputs, states and gradients for everything that a loop reads."""
    with layer.using_loop(loop), tf.GradientTape() as tape:
        tape.watch([inputs, *state])
        outputs, final = layer(inputs, mask=mask, initial_state=state)
        loss = sum(tf.reduce_sum(tf.sin(3 * x)) for x in [*outputs, *final])
    weights = [variable.value for variable in layer.trainable_variables]
    gradients = tape.gradient(loss, [inputs, *state, *weights])
    return [*outputs, *final], [tf.convert_to_tensor(g) for g in gradients]


@pytest.mark.parametrize("holes", [False, True], ids=["padding at the end", "holes"])
@pytest.mark.parametrize("rows, tokens", [(6, 9), (1, 1)])
@pytest.mark.parametrize("loop", ["packed", "padded"])
def test_a_loop_equals_keras_rnn(layers, loop, rows, tokens, holes):
    layer, plain = layers
    inputs, mask = make_batch(layer.input_dim, seed=rows, rows=rows, tokens=tokens, holes=holes)
    state = [tf.random.normal(tensor.shape) for tensor in layer.zero_state(rows)]
    values, gradients = results(layer, loop, inputs, mask, state)
    expected, expected_gradients = results(plain, "rnn", inputs, mask, state)
    for one, other in zip(values, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for one, other in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-5, rtol=1e-4)
    for output in values[: layer.num_layers + 1]:
        assert not np.any(output.numpy()[~mask.numpy()])
    assert rows == 1 or all(np.abs(x).max() > 1e-3 for x in [*expected, *expected_gradients])


@pytest.mark.parametrize("is_masked", [False, True], ids=["unrolled", "packed"])
def test_streams_equal_keras_rnn_of_each_direction(layers, is_masked):
    layer, plain = layers
    forward, mask = make_batch(layer.input_dim, seed=3)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), 1) if is_masked else tf.fill([6], 9)
    mask = tf.sequence_mask(lengths, 9)
    backward = tf.random.normal(forward.shape)
    state = [tf.random.normal(tensor.shape) for tensor in layer.zero_state(6)]
    size = layer.input_dim

    def read_streams():
        return layer.read_streams(forward, backward, state, mask if is_masked else None)

    def read_each_direction():
        # Each direction from a call of its own, with what it reads turned around.
        one, final_one = plain(forward, mask=mask, initial_state=state)
        other, final_other = plain(
            tf.reverse_sequence(backward, lengths, 1), mask=mask, initial_state=state
        )
        outputs = [
            tf.concat([a[..., :size], tf.reverse_sequence(b[..., size:], lengths, 1)], -1)
            for a, b in zip(one, other, strict=True)
        ]
        return outputs, [(final_one if k % 4 < 2 else final_other)[k] for k in range(len(state))]

    def run(read, used):
        with tf.GradientTape() as tape:
            tape.watch([forward, backward, *state])
            outputs, final = read()
            loss = sum(tf.reduce_sum(tf.sin(3 * x)) for x in [*outputs, *final])
        weights = [variable.value for variable in used.trainable_variables]
        gradients = tape.gradient(loss, [forward, backward, *state, *weights])
        return [*outputs, *final, *map(tf.convert_to_tensor, gradients)]

    for one, other in zip(run(read_streams, layer), run(read_each_direction, plain), strict=True):
        np.testing.assert_allclose(one, other, atol=3e-5, rtol=1e-4)


@pytest.mark.parametrize("make", [RNNLoop, PackedLoop, find_loop("padded")])
def test_what_enters_leaves_as_it_was(make):
    inputs, mask = make_batch(5, seed=4, holes=True)
    loop = make(mask)
    left = loop.leave(loop.enter([inputs, 2 * inputs]))
    expected = np.where(mask[..., None], np.concatenate([inputs, 2 * inputs], -1), 0)
    np.testing.assert_array_equal(left, expected)


def test_what_enters_the_unrolled_loop_leaves_as_it_was():
    inputs, _ = make_batch(5)
    loop = UnrolledLoop(training=False)
    left = loop.leave(loop.enter([inputs, 2 * inputs]))
    np.testing.assert_array_equal(left, np.concatenate([inputs, 2 * inputs], -1))
