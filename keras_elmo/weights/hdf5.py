"""Reads and writes the original weight files, through the table of `layout.py`."""

import contextlib
import io
import math
import os

import h5py
import numpy as np

from keras_elmo.files import replacing_file
from keras_elmo.weights.layout import table

_BLOCK = 4 << 20  # bytes that are read at a time

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
            _fill(variable, datasets[row.name], selection)


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
def create_hdf5(path):
    """A new HDF5 file for writing, which fails once and cleanly where the disk is full.

    HDF5 itself writes what it could not write again when the file is closed, fails again, and then
    ends the process with a signal.

    Args:
        path: the file to write; an existing one is emptied.

    Yields:
        An `h5py.File`. Its `create_dataset` raises the error of a write before it, too.

    Raises:
        OSError: the file could not be written.
    """
    with _Target(path) as target:
        with _File(target, "w") as file:
            yield file
        target.check()


class _Target(io.FileIO):
    """What HDF5 writes into: keeps the first error, and takes everything after it unwritten."""

    def __init__(self, path):
        super().__init__(path, "w+")
        self._error = None

    def check(self):
        """Raises the error of a write, if there was one."""
        if self._error is not None:
            raise OSError(self._error.errno, self._error.strerror, self.name)

    def write(self, data):
        if self._error is None:
            try:
                count = io.FileIO.write(self, data)
                while count < len(data):
                    count += io.FileIO.write(self, memoryview(data)[count:])
            except OSError as error:
                self._error = error
        return len(data)

    def truncate(self, size=None):
        if self._error is None:
            try:
                return super().truncate(size)
            except OSError as error:
                self._error = error
        return size


class _File(h5py.File):
    def __init__(self, target, mode):
        super().__init__(target, mode)
        self._target = target

    def create_dataset(self, *args, **kwargs):
        self._target.check()
        dataset = super().create_dataset(*args, **kwargs)
        self._target.check()
        return dataset


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


def _blocks(variable, selection):
    """A variable's place in a dataset, in parts: `(rows of the variable, selection)`.

    What is large is read in rows of about `_BLOCK` bytes; small things whole (`None`, selection).
    """
    rows = max(1, _BLOCK // (4 * math.prod(variable.shape[1:])))
    if selection == () or rows >= variable.shape[0]:
        return [(None, selection)]
    starts = range(0, variable.shape[0], rows)
    ends = [min(start + rows, variable.shape[0]) for start in starts]
    return [
        (slice(start, end), slice(selection.start + start, selection.start + end))
        for start, end in zip(starts, ends, strict=True)
    ]


def _fill(variable, dataset, selection):
    import keras  # not at the top: `keras-elmo info` reads files without it

    blocks = _blocks(variable, selection)
    if len(blocks) == 1:
        variable.assign(_read(dataset, selection).reshape(variable.shape))
    elif keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        # Into one tensor, in place, which the variable then takes over: two copies of the whole
        # would be needed otherwise. Assigning to slices of the variable would make TensorFlow copy
        # it at each reading from then on.
        values = tf.zeros(variable.shape, tf.float32)
        for rows, block in blocks:
            indices = tf.range(rows.start, rows.stop)
            values = tf.raw_ops.InplaceUpdate(x=values, i=indices, v=_read(dataset, block))
        variable.assign(values)
    else:
        variable.assign(np.concatenate([_read(dataset, block) for _, block in blocks]))


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
        pieces = [_blocks(variable, selection) for variable, selection in row.pieces()]
        if not all(_is_finite(_read(dataset, block)) for blocks in pieces for _, block in blocks):
            return f"values: {row.name} holds NaN or infinity"
    except _DAMAGES as error:
        return f"damaged: {row.name}; copy or download the file again ({error})"
    return None


def _is_finite(array):
    # Minimum and maximum pass NaN on, and need no second array.
    return array.size == 0 or bool(np.isfinite([array.min(), array.max()]).all())
