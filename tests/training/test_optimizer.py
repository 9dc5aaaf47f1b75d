import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.optimizer import Adagrad, Adam, clip, sum_repeated_rows


def slices(rows, indices, size):
    rows = tf.constant(rows, tf.float32)
    return tf.IndexedSlices(rows, tf.constant(indices), tf.constant([size, rows.shape[1]]))


@pytest.mark.parametrize("seed", range(3))
def test_it_equals_plain_adagrad_on_added_rows(seed):
    rng = np.random.default_rng(seed)
    table, dense = rng.normal(size=(7, 3)), rng.normal(size=(4,))
    variables = [tf.Variable(table, dtype=tf.float32), tf.Variable(dense, dtype=tf.float32)]
    optimizer = Adagrad(variables, initial_accumulator=0.5)
    sums = [np.full(table.shape, 0.5), np.full(dense.shape, 0.5)]
    for _ in range(3):
        indices = rng.integers(0, 7, 10)  # some twice
        rows, gradient = rng.normal(size=(10, 3)), rng.normal(size=4)
        full = np.zeros_like(table)
        np.add.at(full, indices, rows)
        norm = np.sqrt((full**2).sum() + (gradient**2).sum())
        scale = min(1, 2.0 / norm)
        gradients = [sum_repeated_rows(slices(rows, indices, 7)), tf.constant(gradient, tf.float32)]
        gradients, received = clip(gradients, 2.0)
        np.testing.assert_allclose(received, norm, rtol=1e-5)
        optimizer.apply(gradients, tf.constant(0.3))
        for value, g, accumulated in zip((table, dense), (full, gradient), sums, strict=True):
            accumulated += (scale * g) ** 2
            value -= 0.3 * scale * g / np.sqrt(accumulated)
        for variable, value in zip(variables, (table, dense), strict=True):
            np.testing.assert_allclose(variable, value, atol=1e-5)


def test_no_clipping():
    gradients, norm = clip([tf.constant([3.0, 4.0])], None)
    assert float(norm) == 5 and gradients[0].numpy().tolist() == [3, 4]


@pytest.mark.parametrize("seed", range(3))
def test_adam_equals_the_plain_one_on_the_rows_that_have_a_gradient(seed):
    rng = np.random.default_rng(seed)
    values = [rng.normal(size=(7, 3)), rng.normal(size=(4,))]
    variables = [tf.Variable(value, dtype=tf.float32) for value in values]
    optimizer = Adam(variables, beta_1=0.8, beta_2=0.9, epsilon=1e-6)
    means, squares = ([np.zeros_like(value) for value in values] for _ in range(2))
    for step in range(1, 5):
        indices = rng.integers(0, 7, 5)  # some twice, some never
        rows, dense = rng.normal(size=(5, 3)), rng.normal(size=4)
        full = np.zeros((7, 3))
        np.add.at(full, indices, rows)
        gradients = [sum_repeated_rows(slices(rows, indices, 7)), tf.constant(dense, tf.float32)]
        optimizer.apply(gradients, tf.constant(0.1))
        rate = 0.1 * np.sqrt(1 - 0.9**step) / (1 - 0.8**step)
        for k, (touched, g) in enumerate([(np.unique(indices), full), (slice(None), dense)]):
            means[k][touched] = 0.8 * means[k][touched] + 0.2 * g[touched]
            squares[k][touched] = 0.9 * squares[k][touched] + 0.1 * g[touched] ** 2
            update = rate * means[k][touched] / (np.sqrt(squares[k][touched]) + 1e-6)
            values[k][touched] -= update
    for variable, value in zip(variables, values, strict=True):
        np.testing.assert_allclose(variable, value, atol=1e-5)
