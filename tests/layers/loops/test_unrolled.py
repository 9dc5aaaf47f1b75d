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

from keras_elmo.layers.loops.unrolled import UnrolledLoop


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
