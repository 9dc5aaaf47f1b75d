"""Reads checkpoints of TensorFlow 1, through the table of `layout.py`.

They are those of the original trainer, and the variables of modules of TensorFlow Hub, such as
`google/elmo/3`: a folder with `saved_model.pb` and `variables/`. A module has no options. Its
tensors say what the sizes are; the rest is as in the original.
"""

import glob
import itertools
import os
import re

import numpy as np

from keras_elmo import characters
from keras_elmo.backend import tf
from keras_elmo.config import ElmoConfig
from keras_elmo.weights.assign import assign_weights
from keras_elmo.weights.layout import part_of, weight_table

NAME = "checkpoint"  # see `WeightFiles`
_READ_ERRORS = (IndexError, RuntimeError, ValueError)  # of a file that is cut short or damaged
_MODULE_VARIABLES = os.path.join("variables", "variables")  # the prefix within a module's folder
_CELL = re.compile(
    r"(RNN_\d+)/(?:rnn/(?:multi_rnn_cell/cell_(\d+)/)?|RNN/MultiRNNCell/Cell(\d+)/rnn/)"
    r"lstm_cell/(kernel|bias|projection/kernel)"
)


def find_weights(path):
    """The files of a checkpoint, a tuple that begins with the index; or `None` if there are none.

    The path is their prefix, or a folder with one, with a module or a training of DeepPavlov.
    """
    if epochs := glob.glob(os.path.join(glob.escape(path), "saves", "epochs", "[0-9]*")):
        path = max(epochs, key=lambda folder: (len(folder), folder))
    if os.path.isfile(os.path.join(path, "checkpoint")):  # it names the newest one
        try:
            state = tf.train.get_checkpoint_state(path)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}/checkpoint must be a text that TensorFlow wrote. Received: {error}"
            ) from None
        newest = "" if state is None else state.model_checkpoint_path
        # This is often an absolute path, and the folder may have been moved since.
        prefixes = [os.path.join(path, os.path.basename(newest))]
    else:
        files = glob.glob(os.path.join(glob.escape(path), "*.data-00000-of-*"))
        own = [files[0].rpartition(".data-")[0]] if len(files) == 1 else []
        prefixes = [path, os.path.join(path, _MODULE_VARIABLES), *own]
    for prefix in prefixes:
        if os.path.isfile(f"{prefix}.index"):
            return f"{prefix}.index", *glob.glob(f"{glob.escape(prefix)}.data-*")
    return None


def is_module(files):
    """Whether the files are those of a module of TensorFlow Hub with a biLM."""
    is_variables = files[0].endswith(f"{_MODULE_VARIABLES}.index")
    return is_variables and "char_embed" in _tensors(files, files[0])


def read_config(files, where):
    """The `ElmoConfig` of a checkpoint: what its shapes do not say is as in the original."""
    shapes = {name: tensor.shape for name, tensor in _tensors(files, where).items()}

    def count(name):
        return next(k for k in itertools.count() if name.format(k) not in shapes)

    cell = "RNN_0/RNN/MultiRNNCell/Cell{}/LSTMCell/W_0"
    try:
        inputs, gates = shapes[cell.format(0)]
        filters = [shapes[f"CNN/W_cnn_{k}"][1::2] for k in range(count("CNN/W_cnn_{}"))]
        return ElmoConfig(
            units=gates // 4,
            projection_dim=inputs // 2,
            num_layers=count(cell),
            character_dim=shapes["char_embed"][1],
            filters=filters,
            num_highway=count("CNN_high_{}/W_carry"),
        )
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{where} must hold the variables of an ELMo, such as char_embed and RNN_0. "
            f"Received: other shapes ({error})"
        ) from None


def load_files(files, where, mixes, character_encoder=None, bilm=None, softmax=None):
    """Fills layers from a checkpoint of bilm-tf, or from a module; see `WeightFiles.load`.

    All `mixes` get the mix of a module. A checkpoint of the trainer has none, and leaves them.

    Reference: `dump_weights` in bilm-tf's bilm/training.py.
    """
    tensors = _tensors(files, where)
    has_mix = any(part_of(name) == "mix" for name in tensors)
    table = weight_table(character_encoder, bilm, softmax, mixes if has_mix else ())
    assign_weights(tensors, table, where)


def has_softmax(files):
    return any(name.startswith("softmax/") for name in _tensors(files, files[0]))


class _Tensor:
    """A tensor of a checkpoint, which `assign_weights` can slice like a dataset.

    TensorFlow reads a tensor as a whole: all share a dict with the one that was read last. Modules
    may have a row of zeros, of the padding character, before the other characters' rows.
    """

    def __init__(self, reader, name, last_read):
        self.reader, self.name, self.last_read = reader, name, last_read
        rows, *sizes = reader.get_variable_to_shape_map()[name] or [None]
        self.has_padding = name.endswith("/char_embed") and rows == characters.NUM_CHARACTERS + 1
        self.shape = () if rows is None else (rows - self.has_padding, *sizes)
        self.dtype = np.dtype(reader.get_variable_to_dtype_map()[name].as_numpy_dtype)

    def __getitem__(self, selection):
        if self.name not in self.last_read:
            self.last_read.clear()
            try:
                tensor = self.reader.get_tensor(self.name)
                self.last_read[self.name] = tensor[1:] if self.has_padding else tensor
            except (tf.errors.OpError, *_READ_ERRORS) as error:
                raise ValueError(str(error)) from None
        return self.last_read[self.name][selection]


def _tensors(files, where):
    """A dict of the model's tensors in a checkpoint, by their names in weight files."""
    try:
        reader = tf.train.load_checkpoint(files[0].removesuffix(".index"))
        names = list(reader.get_variable_to_shape_map())
    except (tf.errors.OpError, *_READ_ERRORS) as error:
        raise ValueError(
            f"{where} must be a whole TensorFlow checkpoint; copy it again. "
            f"Received: a file with an error ({error})"
        ) from None
    found, last_read = {}, {}
    for name in names:
        root, _, rest = name.partition("/")
        # A checkpoint also holds the optimizer's slots and the state of the LSTMs.
        is_state = re.search(r"/Adagrad|init_lstm_state|global_step|/Variable(_\d+)?$", name)
        if root in ("lm", "bilm") and not is_state:
            found[_file_name(rest)] = _Tensor(reader, name, last_read)
        elif root == "aggregation":
            found[f"mix/{rest}"] = _Tensor(reader, name, last_read)
    return found


def _file_name(name):
    """The name in weight files of the tensor that a checkpoint calls `name`."""
    if not (match := _CELL.fullmatch(name)):
        return name
    direction, *layers, part = match.groups()
    layer = layers[0] or layers[1]
    part = {"kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0"}[part]
    return f"{direction}/RNN/MultiRNNCell/Cell{layer or 0}/LSTMCell/{part}"
