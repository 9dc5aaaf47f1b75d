"""`Progress`: what a checkpoint holds beside the variables."""

import io
import json

import numpy as np
import tensorflow as tf

# Its name in a checkpoint, where it is saved as `progress`.
PROGRESS_KEY = "progress/.ATTRIBUTES/py_state"


class Progress(tf.train.experimental.PythonState):
    """Where a run is: a dict for JSON, and the LSTM state of every lane."""

    def __init__(self, progress=None, state=()):
        self.progress, self.state = progress, list(state)

    def serialize(self):
        file = io.BytesIO()
        # bfloat16 is none of NumPy's own.
        state = [x.astype(np.float32) for x in self.state]
        np.savez(file, json.dumps(self.progress), *state)
        return file.getvalue()

    def deserialize(self, string_value):
        arrays = np.load(io.BytesIO(string_value))
        progress, *self.state = (arrays[name] for name in arrays.files)
        self.progress = json.loads(str(progress))
