"""What tests/golden, which compares models with NumPy, and test_bilm.py leave open."""

import numpy as np
import pytest

from keras_elmo.layers import ProjectedLSTMCell
from keras_elmo.layers.projected_lstm import projected_lstm_step, projecting_in_parts

UNITS = 6


def test_a_projection_in_parts_is_the_same_until_it_is_rounded():
    shapes = [(3, 4 * UNITS), (3, 5), (3, UNITS), (5, 4 * UNITS), (UNITS, 5)]
    tensors = [np.random.normal(size=shape).astype(np.float32) for shape in shapes]
    expected = projected_lstm_step(*tensors)
    with projecting_in_parts():
        with projecting_in_parts():
            actual = projected_lstm_step(*tensors)
        again = projected_lstm_step(*tensors)
    assert all(map(np.array_equal, again, actual)) and not np.array_equal(actual[0], expected[0])
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize(
    "size, always_project", [(None, False), (5, False), (6, False), (6, True), (8, True)]
)
def test_sizes_and_config(size, always_project):
    cell = ProjectedLSTMCell(UNITS, size, 0.3, 0.2, always_project=always_project)
    cell.build((None, 4))
    size = size or UNITS
    assert cell.state_size == [size, UNITS] and cell.output_size == size
    # A projection to as many units is no projection, unless it is said that it is.
    has_projection = always_project or size != UNITS
    assert len(cell.weights) == 3 + has_projection
    assert not has_projection or cell.projection_kernel.shape == (UNITS, size)
    assert ProjectedLSTMCell.from_config(cell.get_config()).get_config() == cell.get_config()
