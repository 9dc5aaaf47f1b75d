"""The gate equations against NumPy. loops/test_rnn.py has the cell that holds their weights."""

import numpy as np
import pytest
from reference import sigmoid

from keras_elmo.layers import ProjectedLSTMCell
from keras_elmo.layers.matmul import with_fast_gradient
from keras_elmo.layers.projected_lstm import (
    compute_input_gates,
    projected_lstm_step,
    projecting_in_parts,
)

ROWS, FEATURES, UNITS, PROJECTION_DIM = 3, 4, 6, 5


def numpy_step(input_gates, m, c, recurrent_kernel, projection_kernel, clips):
    i, j, f, o = np.split(input_gates + m @ recurrent_kernel, 4, axis=-1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(j)
    c = c if clips[0] is None else np.clip(c, -clips[0], clips[0])
    m = sigmoid(o) * np.tanh(c)
    if projection_kernel is not None:
        m = m @ projection_kernel
        m = m if clips[1] is None else np.clip(m, -clips[1], clips[1])
    return m, c


def random(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("fast_gradient", [False, True])
@pytest.mark.parametrize("clips", [(None, None), (0.3, None), (None, 0.2), (0.3, 0.2)])
@pytest.mark.parametrize("has_projection", [False, True])
def test_a_step_is_its_equations(has_projection, clips, fast_gradient):
    size = PROJECTION_DIM if has_projection else UNITS
    input_gates, m, c = random(ROWS, 4 * UNITS), random(ROWS, size), random(ROWS, UNITS)
    kernels = random(size, 4 * UNITS), random(UNITS, size) if has_projection else None
    given = [k if k is None or not fast_gradient else with_fast_gradient(k) for k in kernels]
    actual = projected_lstm_step(input_gates, m, c, *given, *clips)
    expected = numpy_step(input_gates, m, c, *kernels, clips)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for clip, result in zip(clips, [actual[1], actual[0] if has_projection else None], strict=True):
        if result is not None:
            largest = np.abs(result).max()
            assert largest > 0.3 if clip is None else largest == np.float32(clip)


def test_a_projection_in_parts_is_the_same_until_it_is_rounded():
    gates, m, c = random(ROWS, 4 * UNITS), random(ROWS, PROJECTION_DIM), random(ROWS, UNITS)
    kernels = random(PROJECTION_DIM, 4 * UNITS), random(UNITS, PROJECTION_DIM)
    expected = projected_lstm_step(gates, m, c, *kernels)
    with projecting_in_parts():
        actual = projected_lstm_step(gates, m, c, *kernels)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_none_stands_for_a_zero_state():
    input_gates = random(ROWS, 4 * UNITS)
    kernels = random(PROJECTION_DIM, 4 * UNITS), random(UNITS, PROJECTION_DIM)
    zeros = np.zeros((ROWS, PROJECTION_DIM), "float32"), np.zeros((ROWS, UNITS), "float32")
    actual = projected_lstm_step(input_gates, None, None, *kernels)
    expected = projected_lstm_step(input_gates, *zeros, *kernels)
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_input_gates_hold_the_forget_bias():
    inputs, kernel, bias = random(2, 3, FEATURES), random(FEATURES, 4 * UNITS), random(4 * UNITS)
    forget_bias = np.repeat([0, 0, 1, 0], UNITS)  # gates i, j, f, o
    gates = compute_input_gates(inputs, kernel, bias)
    np.testing.assert_allclose(gates, inputs @ kernel + bias + forget_bias, atol=1e-6)


@pytest.mark.parametrize(
    "size, always_project",
    [(None, False), (PROJECTION_DIM, False), (UNITS, False), (UNITS, True), (UNITS + 2, True)],
)
def test_sizes_and_config(size, always_project):
    cell = ProjectedLSTMCell(UNITS, size, 0.3, 0.2, always_project=always_project)
    cell.build((None, FEATURES))
    size = size or UNITS
    assert cell.state_size == [size, UNITS] and cell.output_size == size
    # A projection to as many units is no projection, unless it is said that it is.
    has_projection = always_project or size != UNITS
    assert len(cell.weights) == 3 + has_projection
    assert not has_projection or cell.projection_kernel.shape == (UNITS, size)
    assert ProjectedLSTMCell.from_config(cell.get_config()).get_config() == cell.get_config()


@pytest.mark.parametrize(
    "name, value",
    [
        ("units", 0),
        ("projection_dim", 0),
        ("projection_dim", 7),
        ("cell_clip", -3),
        ("projection_clip", 0),
    ],
)
def test_bad_arguments_are_refused(name, value):
    with pytest.raises(ValueError, match=f"Received: {name}={value}"):
        ProjectedLSTMCell(**{"units": UNITS, name: value})
