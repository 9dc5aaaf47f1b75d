import numpy as np
import pytest
import tensorflow as tf
from layers.bilm_cases import random_normal
from layers.loops.cases import TOLERANCES, make_inputs, make_layers, run

from keras_elmo.layers.loops.first_step import FirstStepLoop
from keras_elmo.layers.loops.rnn import RNNLoop


@pytest.mark.parametrize("seed", range(6))
def test_it_equals_rnn_loop_over_one_token_from_a_zero_state(seed):
    layers, mask = make_layers(seed), np.ones((3, 1), bool)
    inputs, states = make_inputs(layers, mask, seed)
    zeros = [tuple(map(tf.zeros_like, pair)) for pair in states]
    # It ignores the states that it is given.
    results, gradients = run(FirstStepLoop(), layers, inputs, states)
    expected, expected_gradients = run(RNNLoop(tf.constant(mask)), layers, inputs, zeros)
    for one, other in zip(results, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    # Two inputs and four states come before the weights.
    assert not any(np.any(gradient) for gradient in gradients[2:6])
    for k in [0, 1, *range(6, len(gradients))]:
        np.testing.assert_allclose(gradients[k], expected_gradients[k], **TOLERANCES)


def test_its_form_is_one_row_for_each_sentence():
    inputs = random_normal((3, 1, 4))
    loop = FirstStepLoop()
    directions = loop.enter([inputs, 2 * inputs])
    assert [direction.shape for direction in directions] == [(3, 4), (3, 4)]
    np.testing.assert_array_equal(loop.leave(directions), tf.concat([inputs, 2 * inputs], -1))
