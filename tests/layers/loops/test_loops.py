"""What holds for every loop of the table. test_rnn.py compares `RNNLoop` itself with NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers.loops.cases import assert_same, make_inputs, make_layers, make_mask, run

from keras_elmo.layers.loops import LOOPS, find_loop
from keras_elmo.layers.loops.rnn import RNNLoop

OTHERS = [name for name in LOOPS if name != "rnn"]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", OTHERS)
def test_it_equals_rnn_loop(name, seed):
    layers, mask = make_layers(seed), make_mask(seed)
    inputs, states = make_inputs(layers, mask, seed)
    actual = run(find_loop(name)(tf.constant(mask), seed >= 4), layers, inputs, states)
    assert_same(actual, run(RNNLoop(tf.constant(mask)), layers, inputs, states))
    assert not np.any(actual[0][0].numpy()[~mask])


@pytest.mark.parametrize("name", OTHERS)
def test_one_graph_runs_batches_of_any_shape(name):
    layers = make_layers(1)
    size, units = layers[0].cell.output_size, layers[0].cell.units
    inputs = [tf.TensorSpec((None, None, size))] * 2
    states = [[tf.TensorSpec((None, size)), tf.TensorSpec((None, units))]] * 2
    graph = tf.function(
        lambda mask, inputs, states: run(find_loop(name)(mask), layers, inputs, states),
        input_signature=[tf.TensorSpec((None, None), tf.bool), inputs, states],
        autograph=False,
    )
    for rows, tokens in [(6, 9), (1, 1), (3, 4)]:
        mask = make_mask(rows, rows, tokens)
        inputs, states = make_inputs(layers, mask, rows)
        states = [list(pair) for pair in states]
        actual = graph(tf.constant(mask), inputs, states)
        assert_same(actual, run(RNNLoop(tf.constant(mask)), layers, inputs, states))


@pytest.mark.parametrize("name", ["fast", "unrolled", "", None, []])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="`loop` must be None or one of"):
        find_loop(name)


@pytest.mark.parametrize("name", ["packed", "padded"])
def test_loops_that_need_tensorflow_are_refused_on_other_backends(name, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="backend"):
        find_loop(name)
    assert find_loop("rnn") is RNNLoop
