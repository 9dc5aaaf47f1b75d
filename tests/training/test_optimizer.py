import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.optimizer import Adagrad, Adam, sum_repeated_rows


def adagrad_update(gradient, state, step):
    state["sum"] = state.get("sum", 1) + gradient**2
    return 0.1 * gradient / np.sqrt(state["sum"])


def adam_update(gradient, state, step):
    state["mean"] = 0.9 * state.get("mean", 0) + 0.1 * gradient
    state["square"] = 0.999 * state.get("square", 0) + 0.001 * gradient**2
    rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return rate * state["mean"] / (np.sqrt(state["square"]) + 1e-8)


@pytest.mark.parametrize("optimizer, update", [(Adagrad, adagrad_update), (Adam, adam_update)])
def test_an_optimizer_equals_the_plain_one_on_the_rows_that_have_a_gradient(optimizer, update):
    """Each row of the table, and the dense variable, has its own state."""
    rng = np.random.default_rng(0)
    table, dense = rng.normal(size=(7, 3)), rng.normal(size=4)
    variables = [tf.Variable(value, dtype=tf.float32) for value in (table, dense)]
    optimizer, states = optimizer(variables), [{} for _ in range(8)]
    for step in range(1, 5):
        indices = rng.integers(0, 7, 5)  # some twice, some never
        rows, gradient = rng.normal(size=(5, 3)), rng.normal(size=4)
        full = np.zeros_like(table)
        np.add.at(full, indices, rows)
        slices = tf.IndexedSlices(tf.constant(rows, tf.float32), indices, tf.constant([7, 3]))
        gradients = [sum_repeated_rows(slices), tf.constant(gradient, tf.float32)]
        optimizer.apply(gradients, tf.constant(0.1))
        for row in np.unique(indices):
            table[row] -= update(full[row], states[row], step)
        dense -= update(gradient, states[7], step)
    for variable, value in zip(variables, (table, dense), strict=True):
        np.testing.assert_allclose(variable, value, atol=1e-5)
