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
        character_encoder, bilm: a built `CharCNNEmbedding` and a built `BiLM`. The datasets of one
            that is `None` are ignored.
        softmax: a built `Softmax`, or `None`. It has a file of its own.

    Raises:
        ValueError: the file is not an HDF5 file; or datasets are missing, are not used, have
            another shape, are not floats, cannot be read or hold NaN or infinity. The message
            names the first eight faults, and how many more there are.
        OSError: there is no such file, or it cannot be opened.

    Reference: `_pretrained_initializer` in bilm-tf's bilm/model.py.
    """
    where = file if isinstance(file, str | os.PathLike) else getattr(file, "name", "the file")
    with _open(file, where) as datasets:
        assign_weights(datasets, weight_table(character_encoder, bilm, softmax), where)


def check_file(path, where):
    """Raises a `ValueError` if a file, which errors call `where`, is not a whole HDF5 file."""
    with _open(path, where):
        pass


def save_weights(file, character_encoder=None, bilm=None):
    """Writes layers as a weight file that the originals read, without those that are `None`.

    An existing file is replaced when the new one is whole.
    """
    with replacing_file(file) as temporary:
        write_weights(temporary, character_encoder, bilm)


def write_weights(path, character_encoder=None, bilm=None, softmax=None, companion=None):
    """Writes a weight file as `save_weights` does, but straight to its place.

    `companion` is the digest of the weight file to which this one belongs. Returns its own digest.
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
    """Whether a softmax in `file` may belong to the file `weights`, by their attributes."""
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
        open(file, "rb").close()  # if it cannot be opened, Python's own error is the clearest
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
    """Yields a new `h5py.File`. If the disk is full, it raises one `OSError`.

    HDF5 itself repeats a failed write when the file is closed. The write fails again, and then HDF5
    ends the process with a signal.
    """
    with _Target(path) as target:
        with _File(target, "w") as file:
            yield file
        target.check()


class _Target(io.FileIO):
    """The file that HDF5 writes to. After the first error, which it keeps, it writes nothing."""

    def __init__(self, path):
        super().__init__(path, "w+")
        self._error = None

    def check(self):
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
    """An HDF5 file in a `_Target`. `create_dataset` also raises the error of an earlier write."""

    def __init__(self, target, mode):
        super().__init__(target, mode)
        self._target = target

    def create_dataset(self, *args, **kwargs):
        self._target.check()
        dataset = super().create_dataset(*args, **kwargs)
        self._target.check()
        return dataset
