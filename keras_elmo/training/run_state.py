"""`RunState`: what a checkpoint holds beside the variables."""

import io
import json

import numpy as np
import tensorflow as tf


class RunState(tf.train.experimental.PythonState):
    """How far a run has come: figures that JSON can hold, and the LSTM state of every lane.

    TensorFlow saves it in a checkpoint as one string, and reads it back from there.

    Args:
        values: dict that JSON can hold.
        lstm_state: list of NumPy arrays, (lanes, size).
    """

    def __init__(self, values=None, lstm_state=()):
        self.values, self.lstm_state = values, list(lstm_state)

    def serialize(self):
        file = io.BytesIO()
        # NumPy's own file format does not know bfloat16.
        arrays = [array.astype(np.float32) for array in self.lstm_state]
        np.savez(file, json.dumps(self.values), *arrays)
        return file.getvalue()

    def deserialize(self, string_value):
        arrays = np.load(io.BytesIO(string_value))
        values, *self.lstm_state = (arrays[name] for name in arrays.files)
        self.values = json.loads(str(values))
