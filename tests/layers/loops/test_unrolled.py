import numpy as np
import pytest
import tensorflow as tf
from layers.loops.cases import (
    ReversedRNNLoop,
    assert_same,
    make_inputs,
    make_layers,
    make_mask,
    run,
)

from keras_elmo.layers.loops.rnn import RNNLoop
from keras_elmo.layers.loops.unrolled import FirstStepLoop, UnrolledLoop


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_it_equals_rnn_loop(seed, training):
    layers, mask = make_layers(seed), np.ones_like(make_mask(seed))
    inputs, states = make_inputs(layers, mask, seed)
    actual = run(UnrolledLoop(training), layers, inputs, states)
    assert_same(actual, run(ReversedRNNLoop(tf.constant(mask)), layers, inputs, states))


def test_the_graph_has_no_loop():
    layers, mask = make_layers(1), np.ones((2, 4), bool)
    inputs, states = make_inputs(layers, mask, 1)
    graph = tf.function(
        lambda inputs, states: run(UnrolledLoop(True), layers, inputs, states), autograph=False
    )
    states = [list(pair) for pair in states]
    operations = graph.get_concrete_function(inputs, states).graph.get_operations()
    assert not any("While" in operation.type for operation in operations)
    assert_same(graph(inputs, states), run(UnrolledLoop(True), layers, inputs, states))


@pytest.mark.parametrize("seed", range(6))
def test_the_first_step_equals_rnn_loop_over_one_token_from_a_zero_state(seed):
    layers, mask = make_layers(seed), np.ones((3, 1), bool)
    inputs, states = make_inputs(layers, mask, seed)
    zeros = [tuple(map(tf.zeros_like, pair)) for pair in states]
    # It ignores the states that it is given: the gradients of these four tensors are 0.
    results, gradients = run(FirstStepLoop(), layers, inputs, states)
    assert not any(np.any(gradient) for gradient in gradients[2:6])
    expected, expected_gradients = run(RNNLoop(tf.constant(mask)), layers, inputs, zeros)
    expected_gradients[2:6] = gradients[2:6]
    assert_same((results, gradients), (expected, expected_gradients))
