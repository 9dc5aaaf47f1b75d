"""Reads and writes the original weight files (HDF5), through the table of `layout.py`."""

import contextlib
import hashlib
import io
import os

import h5py
import numpy as np

from keras_elmo.files.atomic import replacing_file
from keras_elmo.weights.assign import READ_ERRORS, assign_weights
from keras_elmo.weights.layout import weight_table

# The attributes of a file: the digest of its weights, and of those that it belongs to.
_DIGEST = "keras_elmo_sha256"
_COMPANION = "keras_elmo_weights_sha256"


def load_weights(file, character_encoder=None, bilm=None, softmax=None):
    """Fills layers from a weight file of the original (bilm-tf, AllenNLP).

    Everything is checked before a variable changes: a file with a fault changes nothing.

    Args:
        file: path, or a binary file object.
        character_encoder: a built `CharCNNEmbedding`. If it is `None`, its datasets are ignored.
        bilm: a built `BiLM`, or `None`, likewise.
        softmax: a built `Softmax`, or `None`. It has a file of its own.

    Raises:
        ValueError: the file is not an HDF5 file; or datasets are missing, are not used, have
            another shape, are not floats, cannot be read or hold NaN or infinity. The message
            names the first eight faults, and how many more there are.
        OSError: there is no such file, or it cannot be opened.

    Example:

    >>> load_weights("weights.hdf5", bilm=bilm)

    Reference: `_pretrained_initializer` in bilm-tf's bilm/model.py.
    """
    where = file if isinstance(file, str | os.PathLike) else getattr(file, "name", "the file")
    with _open(file, where) as datasets:
        assign_weights(datasets, weight_table(character_encoder, bilm, softmax), where)


def check_file(path, where):
    """Raises a `ValueError` if a file, which errors call `where`, is not a whole HDF5 file."""
    with _open(path, where):
        pass


def save_weights(file, character_encoder=None, bilm=None, softmax=None):
    """Writes layers as a weight file that the originals read.

    The data is written to a temporary file beside `file`, which takes its place when it is whole.

    Args:
        file: path. An existing file is replaced.
        character_encoder: a built `CharCNNEmbedding`, or `None` to leave it out.
        bilm: a built `BiLM`, or `None`, likewise.
        softmax: a built `Softmax`, or `None`, likewise.
    """
    with replacing_file(file) as temporary:
        write_weights(temporary, character_encoder, bilm, softmax)


def write_weights(path, character_encoder=None, bilm=None, softmax=None, companion=None):
    """Writes a weight file as `save_weights` does, but straight to its place.

    Args:
        path: the file to write.
        character_encoder, bilm, softmax: see `save_weights`.
        companion: str, or `None`. The digest of the weight file to which this file belongs.

    Returns:
        The digest of the weights, a str, which the file has as an attribute.
    """
    digest = hashlib.sha256()
    with create_hdf5(path) as target:
        for entry in weight_table(character_encoder, bilm, softmax):
            dataset = target.create_dataset(entry.name, entry.shape, np.float32)
            for variable, selection, _ in entry.pieces:
                values = np.asarray(variable.numpy(), np.float32)
                digest.update(np.ascontiguousarray(values))
                # A variable that fills the whole dataset may lack an axis that the dataset has.
                dataset[selection] = values.reshape(entry.shape) if selection == () else values
        target.attrs[_DIGEST] = digest.hexdigest()
        if companion is not None:
            target.attrs[_COMPANION] = companion
    return digest.hexdigest()


def is_companion(file, weights):
    """Whether a file of weights may belong to another one.

    Args:
        file: path of a file that `write_weights` wrote with the digest of its companion, or of
            another weight file, which says nothing of that.
        weights: path of the weight file.
    """
    companion, digest = _attribute(file, _COMPANION), _attribute(weights, _DIGEST)
    if companion is None:  # Published files have neither.
        return digest is None or _attribute(file, _DIGEST) is not None
    return companion == digest


def _attribute(path, name):
    """An attribute of an HDF5 file; `None` if it has none, or cannot be read."""
    try:
        with h5py.File(path, "r") as file:
            return file.attrs.get(name)
    except READ_ERRORS:
        return None


@contextlib.contextmanager
def _open(file, where):
    """Opens a weight file, and yields a dict of its datasets by their names."""
    if isinstance(file, str | os.PathLike):
        if not os.path.exists(file):
            raise FileNotFoundError(f"There is no weight file {where}")
        if os.path.isdir(file):
            raise IsADirectoryError(f"A weight file must be named, not a folder. Received: {where}")
        # If the file may not be read, Python's own error is the clearest.
        open(file, "rb").close()
    datasets = {}

    def visit(name, item):
        if isinstance(item, h5py.Dataset):
            datasets[os.fsdecode(name)] = item  # h5py gives a name that is not UTF-8 as bytes

    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(h5py.File(file, "r")).visititems(visit)
        except READ_ERRORS as error:
            raise ValueError(
                f"{where} must be a whole HDF5 file; it may be cut short, or of another kind. "
                f"Copy or download it again. Received: a file with an error ({error})"
            ) from None
        yield datasets


@contextlib.contextmanager
def create_hdf5(path):
    """A context with a new HDF5 file. If the disk is full, it raises one error.

    HDF5 itself repeats a failed write when the file is closed. The write fails again, and then HDF5
    ends the process with a signal.

    Args:
        path: the file to write. An existing file is overwritten.

    Yields:
        An `h5py.File`. Its `create_dataset` also raises the error of an earlier write.

    Raises:
        OSError: the file could not be written.
    """
    with _Target(path) as target:
        with _File(target, "w") as file:
            yield file
        target.check()


class _Target(io.FileIO):
    """The file that HDF5 writes to.

    It keeps the first error of a write. After that, it accepts all data and writes nothing.
    """

    def __init__(self, path):
        super().__init__(path, "w+")
        self._error = None

    def check(self):
        """Raises the first error of a write, if there was one."""
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
    """An HDF5 file in a `_Target`, whose errors it raises."""

    def __init__(self, target, mode):
        super().__init__(target, mode)
        self._target = target

    def create_dataset(self, *args, **kwargs):
        self._target.check()
        dataset = super().create_dataset(*args, **kwargs)
        self._target.check()
        return dataset
