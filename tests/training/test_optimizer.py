"""`LazyAdagrad`, `LazyAdam` and `WarmUpSchedule`, beside their formulas in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.layers import CharCNNEmbedding
from keras_elmo.layers.rows import take_rows
from keras_elmo.training import LazyAdagrad, LazyAdam, WarmUpSchedule


def adagrad(state, gradient, step, rate):
    state["a"] = state.get("a", 1.0) + gradient**2
    return rate * gradient / np.sqrt(state["a"])


def adam(state, gradient, step, rate):
    state["m"] = 0.9 * state.get("m", 0.0) + 0.1 * gradient
    state["v"] = 0.999 * state.get("v", 0.0) + 0.001 * gradient**2
    rate = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return rate * state["m"] / (np.sqrt(state["v"]) + 1e-8)


# Rows of a table (of nine) that three steps take, one of them twice.
STEPS = [[0, 4, 4], [4, 7, 0], [8, 7, 7]]


@pytest.mark.parametrize("form", ["rows", "mask"])
@pytest.mark.parametrize("clip_norm", [None, 1.0])
@pytest.mark.parametrize("optimizer, update", [(LazyAdagrad, adagrad), (LazyAdam, adam)])
def test_rows_without_a_gradient_stay_as_they_are(optimizer, update, clip_norm, form):
    """As rows, which TensorFlow has; and as a whole gradient with zeros, as other backends."""
    rng = np.random.default_rng(0)
    table, kernel = (
        keras.Variable(rng.normal(size=size), dtype="float32") for size in ((9, 3), (3, 2))
    )
    table.has_lazy_rows = True
    made = optimizer(0.1, global_clipnorm=clip_norm)
    made.build([table, kernel])
    expected = [x.numpy().astype(np.float64) for x in (table, kernel)]
    states = [{} for _ in range(9)], {}
    for step, rows in enumerate(STEPS, start=1):
        upstream = rng.normal(size=(3, 3)).astype(np.float32)
        gradients = [np.zeros((9, 3)), rng.normal(size=(3, 2)).astype(np.float32)]
        np.add.at(gradients[0], rows, upstream)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(take_rows(table, np.array(rows)) * upstream)
        gradient = tape.gradient(loss, table.value)
        assert isinstance(gradient, tf.IndexedSlices) and len(gradient.indices) == len(set(rows))
        gradient = tf.convert_to_tensor(gradient) if form == "mask" else gradient
        np.testing.assert_allclose(tf.convert_to_tensor(gradient), gradients[0], rtol=1e-6)
        made.apply([gradient, tf.constant(gradients[1])], [table, kernel])
        norm = np.sqrt(sum((g.astype(np.float64) ** 2).sum() for g in gradients))
        scale = 1.0 if clip_norm is None else min(1.0, clip_norm / norm)
        for row in set(rows):
            expected[0][row] -= update(states[0][row], scale * gradients[0][row], step, 0.1)
        expected[1] -= update(states[1], scale * gradients[1], step, 0.1)
    for variable, values in zip((table, kernel), expected, strict=True):
        np.testing.assert_allclose(variable.numpy(), values, rtol=1e-5, atol=1e-6)
    again = optimizer.from_config(made.get_config())
    assert again.get_config() == made.get_config()


def test_keras_own_adam_sums_the_gradients_of_a_character():
    """A character that occurs twice has one gradient. TensorFlow's own would be two."""
    ids = np.array([[5, 5, 5, 1, 0, 0], [5, 2, 5, 1, 0, 0]])
    results = []
    for is_dense in (False, True):
        layer = CharCNNEmbedding(filters=[(1, 4), (2, 4)], character_dim=3, projection_dim=2)
        layer.build()
        rng = np.random.default_rng(0)
        for variable in layer.weights:
            variable.assign(rng.normal(size=variable.shape))
        optimizer = keras.optimizers.Adam(0.1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids, training=True) ** 2)
        variables = layer.trainable_variables
        gradients = tape.gradient(loss, [variable.value for variable in variables])
        if is_dense:
            gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        optimizer.apply(gradients, variables)
        results.append([variable.numpy() for variable in variables])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "arguments, steps, expected",
    [
        (("constant", 4), [0, 1, 3, 4, 99], [0.25, 0.5, 1, 1, 1]),
        (("linear", 0), [0, 5, 10], [1, 0.5, 0]),
        (("linear", 2), [0, 1, 2, 6, 10], [0.5, 1, 1, 0.5, 0]),
        (("cosine", 0), [0, 5, 10, 12], [1, 0.5, 0, 0]),
    ],
)
def test_the_learning_rate_of_each_step(arguments, steps, expected):
    schedule = WarmUpSchedule(0.2, 10, *arguments)
    schedule = WarmUpSchedule.from_config(schedule.get_config())
    found = [float(schedule(step)) for step in steps]
    np.testing.assert_allclose(found, 0.2 * np.array(expected), atol=1e-7)
