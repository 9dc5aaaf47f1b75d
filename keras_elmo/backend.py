"""TensorFlow, which on Keras's other backends is imported when a name of it is first used.

There text becomes numbers in NumPy, and the numbers go through `keras.ops`.
"""

import importlib
import sys

import keras
import numpy as np


class _OnFirstUse:
    def __getattr__(self, name):
        return getattr(importlib.import_module("tensorflow"), name)


ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
tf = importlib.import_module("tensorflow") if ON_TENSORFLOW else _OnFirstUse()
Module = tf.Module if ON_TENSORFLOW else object


def is_tensor(value):
    """Whether a value is a tensor of TensorFlow. There is none before TensorFlow is imported."""
    return sys.modules.get("tensorflow") is not None and tf.is_tensor(value)


def known_values(tensor):
    """The values of an array of NumPy or an eager tensor of TensorFlow; `None` of another."""
    if is_tensor(tensor) and hasattr(tensor, "numpy"):
        return tensor.numpy()
    return tensor if isinstance(tensor, np.ndarray) else None


def check_backend():
    """Raises a `ValueError` where the backend has no strings."""
    if not ON_TENSORFLOW:
        raise ValueError(
            "The backend must be TensorFlow where a model is called on text: set "
            "KERAS_BACKEND=tensorflow, or use `Elmo.embed`, or call the model on the character ids "
            f"of its `batch_to_ids`. Received: backend {keras.backend.backend()!r}"
        )
