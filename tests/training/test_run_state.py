import io
import json

import ml_dtypes
import numpy as np

from keras_elmo.training.run_state import RunState


def test_it_comes_back_from_its_string():
    rng = np.random.default_rng(0)
    values = {"step": 7, "best": float("inf"), "heldout": None, "run": {"filters": [[1, 4]]}}
    state = [rng.normal(size=(3, 2)).astype(np.float32), rng.normal(size=(3, 5)).astype(np.float32)]
    read = RunState()
    read.deserialize(RunState(values, state).serialize())
    assert read.values == values
    assert len(read.lstm_state) == 2
    for array, expected in zip(read.lstm_state, state, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_bfloat16_is_kept_as_float32():
    state = np.array([[1.5, -0.25]], ml_dtypes.bfloat16)
    read = RunState()
    read.deserialize(RunState({}, [state]).serialize())
    assert read.lstm_state[0].dtype == np.float32
    np.testing.assert_array_equal(read.lstm_state[0], [[1.5, -0.25]])


def test_files_of_version_0_1_0_are_read():
    """Their string is a NumPy archive: the figures as JSON, and then the arrays."""
    file = io.BytesIO()
    np.savez(file, json.dumps({"step": 3}), np.ones((2, 4), np.float32))
    read = RunState()
    read.deserialize(file.getvalue())
    assert read.values == {"step": 3} and read.lstm_state[0].tolist() == [[1.0] * 4] * 2
