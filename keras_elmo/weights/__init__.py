"""Files to variables, and back."""

from keras_elmo.weights.hdf5 import load_weights, save_weights

__all__ = ["load_weights", "save_weights"]
