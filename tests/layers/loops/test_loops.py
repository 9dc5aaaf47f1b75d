"""Every loop against `RNNLoop`. (tests/golden compares whole models with NumPy.)"""

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers.loops.cases import ReversedLoop, assert_same, make_inputs, make_layers, make_mask, run

from keras_elmo.layers.loops import LOOPS, find_loop
from keras_elmo.layers.loops.packed import PackedLoop
from keras_elmo.layers.loops.padded import PaddedLoop
from keras_elmo.layers.loops.rnn import RNNLoop
from keras_elmo.layers.loops.unrolled import UnrolledLoop

OTHERS = [name for name in LOOPS if name != "rnn"]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", OTHERS)
def test_it_equals_rnn_loop(name, seed):
    layers, mask = make_layers(seed), make_mask(seed)
    inputs, states = make_inputs(layers, mask, seed)
    actual = run(find_loop(name)(tf.constant(mask), seed >= 4), layers, inputs, states)
    assert_same(actual, run(RNNLoop(tf.constant(mask)), layers, inputs, states))
    assert not np.any(actual[0][0].numpy()[~mask])


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", [UnrolledLoop, PackedLoop, PaddedLoop])
@pytest.mark.parametrize("seed", range(4))
def test_a_backward_direction_in_its_own_order_equals_rnn_loop(kind, seed, training):
    layers, lengths = make_layers(seed), make_mask(seed).sum(axis=1)
    if kind is PackedLoop:
        mask = tf.sequence_mask(lengths, max(1, lengths.max()))
        loop = PackedLoop(mask, training, is_backward_reversed=False)
    else:
        mask = tf.ones((len(lengths), 5), tf.bool)
        is_unrolled = kind is UnrolledLoop
        loop = kind(training) if is_unrolled else kind(None, training, is_backward_reversed=False)
    inputs, states = make_inputs(layers, mask.numpy(), seed)
    actual = run(loop, layers, inputs, states)
    assert_same(actual, run(ReversedLoop(mask), layers, inputs, states))


def test_the_graph_of_an_unrolled_loop_has_no_loop():
    layers = make_layers(1)
    inputs, states = make_inputs(layers, np.ones((2, 4), bool), 1)
    graph = tf.function(
        lambda inputs, states: run(UnrolledLoop(True), layers, inputs, states), autograph=False
    )
    operations = graph.get_concrete_function(inputs, states).graph.get_operations()
    assert not any("While" in operation.type for operation in operations)


def test_names_that_are_not_there_are_refused(monkeypatch):
    for name in ("unrolled", "", None, []):
        with pytest.raises(ValueError, match="`loop` must be None or one of"):
            find_loop(name)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    for name in OTHERS:
        with pytest.raises(ValueError, match="backend"):
            find_loop(name)
    assert find_loop("rnn") is RNNLoop
