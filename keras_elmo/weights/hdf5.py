"""Reads and writes the original weight files, through the table of `layout.py`."""

import contextlib
import os

import h5py
import numpy as np

from keras_elmo.files import replacing_file
from keras_elmo.weights.hdf5_file import create_hdf5
from keras_elmo.weights.layout import table

# What h5py raises, by the place of the damage in a file.
_DAMAGES = (OSError, KeyError, RuntimeError, TypeError, ValueError)


def load_weights(file, character_encoder=None, bilm=None, softmax=None):
    """Fills layers from a weight file of the original (bilm-tf, AllenNLP).

    Everything is checked before a variable changes: a file with a fault changes nothing.

    Args:
        file: path, or a binary file object.
        character_encoder: a built `CharCNNEmbedding`, or `None`: its datasets are passed over.
        bilm: a built `BiLM`, or `None`, the same.
        softmax: a built `Softmax`, or `None`. It has a file of its own.

    Raises:
        ValueError: the file is no HDF5 file; or datasets are missing, are not used, have another
            shape, are no floats, cannot be read or hold NaN or infinity. All are named at once.
        OSError: there is no such file, or it cannot be opened.

    Example:

    >>> load_weights("weights.hdf5", bilm=bilm)

    Reference: `_pretrained_initializer` in bilm-tf's bilm/model.py.
    """
    parts = (character_encoder, bilm, softmax)
    where = file if isinstance(file, str | os.PathLike) else getattr(file, "name", "the file")
    with _open(file, where) as datasets:
        fill(datasets, parts, where)


def fill(datasets, parts, where):
    """Fills the layers of `load_weights` from whatever holds their datasets.

    Args:
        datasets: dict of what has a `shape`, a `dtype` and slices like NumPy's arrays, by the
            names of `layout.py`.
        parts: the triple of layers.
        where: what errors call the source.
    """
    rows = table(*parts)
    faults = _faults(datasets, rows, parts)
    if faults:
        raise ValueError(
            f"{where} does not hold the weights of this model; nothing was changed. Check that "
            "the options and the weights belong together, and that the file is whole:\n  "
            + "\n  ".join(faults)
        )
    # A second reading, rather than a second copy of all weights in memory.
    for row in rows:
        for variable, selection in row.pieces():
            variable.assign(_read(datasets[row.name], selection).reshape(variable.shape))


def save_weights(file, character_encoder=None, bilm=None, softmax=None):
    """Writes layers as a weight file that the originals read.

    The file is written beside its place and moved there when it is whole.

    Args:
        file: path. An existing file is replaced.
        character_encoder: a built `CharCNNEmbedding`, or `None` to leave it out.
        bilm: a built `BiLM`, or `None`, the same.
        softmax: a built `Softmax`, or `None`, the same.
    """
    with replacing_file(file) as temporary, create_hdf5(temporary) as target:
        for row in table(character_encoder, bilm, softmax):
            dataset = target.create_dataset(row.name, row.shape, np.float32)
            for variable, selection in row.pieces():
                values = np.asarray(variable.numpy(), np.float32)
                # Of one variable the whole dataset, which may have an axis of one more.
                dataset[selection] = values.reshape(row.shape) if selection == () else values


@contextlib.contextmanager
def _open(file, where):
    """The datasets of a weight file by their names, while it is open."""
    if isinstance(file, str | os.PathLike):
        if not os.path.exists(file):
            raise FileNotFoundError(f"There is no weight file {where}")
        if os.path.isdir(file):
            raise IsADirectoryError(f"A weight file must be named, not a folder. Received: {where}")
        open(file, "rb").close()  # where it may not be read, Python says so best
    datasets = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            datasets[os.fsdecode(name)] = item  # bytes where a name is no UTF-8

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(h5py.File(file, "r")).visititems(visit)
        except _DAMAGES as error:
            raise ValueError(
                f"{where} must be a whole HDF5 file; it may be cut short, or of another kind. "
                f"Copy or download it again. ({error})"
            ) from None
        yield datasets


def _read(dataset, selection):
    with np.errstate(over="ignore"):  # a float64 beyond float32: infinity, which is a fault
        return np.asarray(dataset[selection], np.float32)


def _faults(datasets, rows, parts):
    faults = [fault for row in rows if (fault := _fault(row, datasets.get(row.name)))]
    encoder, bilm, softmax = parts
    for name in sorted(datasets.keys() - {row.name for row in rows}):
        owner = {"RNN": bilm, "sof": softmax}.get(name[:3], encoder)
        if owner is not None:
            faults.append(f"not used: {name}, shape {datasets[name].shape}")
    return faults


def _fault(row, dataset):
    """What is wrong with the dataset of a row, or `None`."""
    if dataset is None:
        return f"missing: {row.name}, expected shape {row.shape}"
    try:
        if dataset.shape != row.shape:
            return f"shape: {row.name}, expected {row.shape}, in the file {dataset.shape}"
        if dataset.dtype.kind != "f":
            return f"dtype: {row.name}, expected float32, in the file {dataset.dtype}"
        if not all(_is_finite(_read(dataset, selection)) for _, selection in row.pieces()):
            return f"values: {row.name} holds NaN or infinity"
    except _DAMAGES as error:
        return f"damaged: {row.name}; copy or download the file again ({error})"
    return None


def _is_finite(array):
    # Minimum and maximum pass NaN on, and need no second array.
    return array.size == 0 or bool(np.isfinite([array.min(), array.max()]).all())
