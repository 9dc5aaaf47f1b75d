"""Reads checkpoints of the original trainer (TensorFlow 1), through the table of `layout.py`."""

import os
import re

import numpy as np
import tensorflow as tf

from keras_elmo.weights import hdf5

_STATE_FILE = "checkpoint"  # names the newest of a folder


def find(path):
    """The prefix of a checkpoint's files, or `None`.

    Args:
        path: a folder, of which the newest checkpoint is meant; or such a prefix.
    """
    if not isinstance(path, str | os.PathLike):
        return None
    path = os.fspath(path)
    if os.path.isfile(os.path.join(path, _STATE_FILE)):
        state = tf.train.get_checkpoint_state(path)
        if state is None:
            return None
        # Often an absolute path, of where the folder was when it was written.
        names = state.model_checkpoint_path, os.path.basename(state.model_checkpoint_path)
        prefixes = [os.path.join(path, name) for name in names]
        return next((prefix for prefix in prefixes if os.path.isfile(f"{prefix}.index")), None)
    return path if os.path.isfile(f"{path}.index") else None


def load_weights(path, character_encoder=None, bilm=None, softmax=None):
    """Fills layers from a checkpoint of the original trainer (bilm-tf).

    Everything is checked before a variable changes: a checkpoint with a fault changes nothing.

    Args:
        path: see `find`.
        character_encoder, bilm, softmax: see `hdf5.load_weights`.

    Raises:
        ValueError: see `hdf5.load_weights`.
        FileNotFoundError: there is no checkpoint.

    Reference: `dump_weights` in bilm-tf's bilm/training.py.
    """
    prefix = find(path)
    if prefix is None:
        raise FileNotFoundError(f"There is no TensorFlow checkpoint {path}")
    parts = (character_encoder, bilm, softmax)
    hdf5.fill(_tensors(prefix), parts, prefix)


def has_softmax(path):
    """Whether a path is that of a checkpoint with a softmax."""
    prefix = find(path)
    return prefix is not None and any(name.startswith("softmax/") for name in _tensors(prefix))


class _Tensor:
    """A tensor of a checkpoint as `hdf5.fill` reads datasets: in parts.

    TensorFlow reads it whole; `last`, a dict that all of a checkpoint share, keeps the last one.
    """

    def __init__(self, reader, name, last):
        self.reader, self.name, self.last = reader, name, last
        self.shape = tuple(reader.get_variable_to_shape_map()[name])
        self.dtype = np.dtype(reader.get_variable_to_dtype_map()[name].as_numpy_dtype)

    def __getitem__(self, selection):
        if self.name not in self.last:
            self.last.clear()
            self.last[self.name] = self.reader.get_tensor(self.name)
        return self.last[self.name][selection]


def _tensors(prefix):
    """The model's tensors of a checkpoint, by the names that they have in weight files."""
    try:
        reader = tf.train.load_checkpoint(prefix)
        names = list(reader.get_variable_to_shape_map())
    except (tf.errors.OpError, ValueError) as error:
        raise ValueError(
            f"{prefix} must be a whole TensorFlow checkpoint; copy it again. ({error})"
        ) from None
    found, last = {}, {}
    for name in names:
        root, _, rest = name.partition("/")
        # Beside the model there are the optimizer's slots and the state of the LSTMs.
        if root == "lm" and not re.search(r"/Adagrad|init_lstm_state|global_step", name):
            found[_file_name(rest)] = _Tensor(reader, name, last)
    return found


def _file_name(name):
    match = re.fullmatch(
        r"(RNN_\d+)/rnn/(?:multi_rnn_cell/cell_(\d+)/)?lstm_cell/(kernel|bias|projection/kernel)",
        name,
    )
    if not match:
        return name
    direction, layer, part = match.groups()
    part = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}[part]
    return f"{direction}/RNN/MultiRNNCell/Cell{layer or 0}/LSTMCell/{part}"
