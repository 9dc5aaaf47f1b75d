"""Reads checkpoints of the original trainer (TensorFlow 1), through the table of `layout.py`."""

import os
import re

import numpy as np
import tensorflow as tf

from keras_elmo.weights.assign import assign_weights
from keras_elmo.weights.layout import weight_table

# What TensorFlow raises for a checkpoint that is cut short or damaged.
CHECKPOINT_ERRORS = (tf.errors.OpError, IndexError, RuntimeError, ValueError)
_STATE_FILE = "checkpoint"  # this file names the newest checkpoint of its folder


def find_checkpoint(path):
    """Finds the prefix that the files of a checkpoint share.

    Args:
        path: a folder, which stands for its newest checkpoint; or the prefix itself.

    Returns:
        The prefix, a str, or `None` if there is no checkpoint.
    """
    if not isinstance(path, str | os.PathLike):
        return None
    path = os.fspath(path)
    if os.path.isfile(os.path.join(path, _STATE_FILE)):
        state = tf.train.get_checkpoint_state(path)
        if state is None:
            return None
        # This is often an absolute path, and the folder may have been moved since.
        names = state.model_checkpoint_path, os.path.basename(state.model_checkpoint_path)
        prefixes = [os.path.join(path, name) for name in names]
        return next((prefix for prefix in prefixes if os.path.isfile(f"{prefix}.index")), None)
    return path if os.path.isfile(f"{path}.index") else None


def load_weights(path, character_encoder=None, bilm=None, softmax=None):
    """Fills layers from a checkpoint of the original trainer (bilm-tf).

    Everything is checked before a variable changes: a checkpoint with a fault changes nothing.

    Args:
        path: see `find_checkpoint`.
        character_encoder, bilm, softmax: see `hdf5.load_weights`.

    Raises:
        ValueError: see `hdf5.load_weights`.
        FileNotFoundError: there is no checkpoint.

    Reference: `dump_weights` in bilm-tf's bilm/training.py.
    """
    prefix = find_checkpoint(path)
    if prefix is None:
        raise FileNotFoundError(f"There is no TensorFlow checkpoint {path}")
    assign_weights(_tensors(prefix), weight_table(character_encoder, bilm, softmax), prefix)


def has_softmax(path):
    """Whether there is a checkpoint at a path, and it holds a softmax."""
    prefix = find_checkpoint(path)
    return prefix is not None and any(name.startswith("softmax/") for name in _tensors(prefix))


class _Tensor:
    """A tensor of a checkpoint, which `assign_weights` can slice like a dataset.

    TensorFlow reads a tensor as a whole, and `assign_weights` reads it in pieces. Therefore the
    tensor that was read last is kept in `last_read`, a dict that all tensors of a checkpoint share.
    """

    def __init__(self, reader, name, last_read):
        self.reader, self.name, self.last_read = reader, name, last_read
        self.shape = tuple(reader.get_variable_to_shape_map()[name])
        self.dtype = np.dtype(reader.get_variable_to_dtype_map()[name].as_numpy_dtype)

    def __getitem__(self, selection):
        if self.name not in self.last_read:
            self.last_read.clear()
            try:
                self.last_read[self.name] = self.reader.get_tensor(self.name)
            except CHECKPOINT_ERRORS as error:
                raise ValueError(str(error)) from None
        return self.last_read[self.name][selection]


def _tensors(prefix):
    """A dict of the model's tensors in a checkpoint, by their names in weight files."""
    try:
        reader = tf.train.load_checkpoint(prefix)
        names = list(reader.get_variable_to_shape_map())
    except CHECKPOINT_ERRORS as error:
        raise ValueError(
            f"{prefix} must be a whole TensorFlow checkpoint; copy it again. "
            f"Received: a file with an error ({error})"
        ) from None
    found, last_read = {}, {}
    for name in names:
        root, _, rest = name.partition("/")
        # A checkpoint also holds the optimizer's slots and the state of the LSTMs.
        if root == "lm" and not re.search(r"/Adagrad|init_lstm_state|global_step", name):
            found[_file_name(rest)] = _Tensor(reader, name, last_read)
    return found


def _file_name(name):
    """The name in weight files of the tensor that a checkpoint calls `name`."""
    match = re.fullmatch(
        r"(RNN_\d+)/rnn/(?:multi_rnn_cell/cell_(\d+)/)?lstm_cell/(kernel|bias|projection/kernel)",
        name,
    )
    if not match:
        return name
    direction, layer, part = match.groups()
    part = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}[part]
    return f"{direction}/RNN/MultiRNNCell/Cell{layer or 0}/LSTMCell/{part}"
