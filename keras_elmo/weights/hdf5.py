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

NAME = "weight file"  # see `WeightFiles`


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
    load_files((file,), where, (), character_encoder, bilm, softmax)


def load_files(files, where, mixes, character_encoder=None, bilm=None, softmax=None):
    """See `WeightFiles.load`. The original's weight files hold no mix."""
    with _open(files[0], where) as datasets:
        assign_weights(datasets, weight_table(character_encoder, bilm, softmax), where)


def check_file(path, where):
    """Raises a `ValueError` if a file is not a whole HDF5 file."""
    with _open(path, where):
        pass


def save_weights(file, character_encoder=None, bilm=None):
    """Writes layers as a weight file that the originals read, without those that are `None`.

    An existing file is replaced when the new one is whole.
    """
    with replacing_file(file) as temporary:
        write_weights(temporary, character_encoder, bilm)


def write_weights(path, character_encoder=None, bilm=None, softmax=None, **companions):
    """Writes a weight file straight to its place, and returns its digest.

    `companions` are the digests of what it belongs to. The originals do not read these attributes.
    """
    digest = digest_of(character_encoder, bilm, softmax)
    with create_hdf5(path) as target:
        for entry in weight_table(character_encoder, bilm, softmax):
            dataset = target.create_dataset(entry.name, entry.shape, np.float32)
            for variable, selection, _ in entry.pieces:
                values = np.asarray(variable.numpy(), np.float32)
                # A variable that fills the whole dataset may lack an axis that the dataset has.
                dataset[selection] = values.reshape(entry.shape) if selection == () else values
        for name, value in {None: digest, **companions}.items():
            target.attrs[_attribute(name)] = value
    return digest


def digest_of(character_encoder=None, bilm=None, softmax=None):
    """The SHA-256 of the weights of layers, as their file has them."""
    table = weight_table(character_encoder, bilm, softmax)
    return digest_of_arrays(variable.numpy() for entry in table for variable, _, _ in entry.pieces)


def read_digest(file, companion=None):
    """The digest of a file's weights, or that of a companion; `None` if there is none."""
    try:
        with h5py.File(file, "r") as datasets:
            return datasets.attrs.get(_attribute(companion))
    except READ_ERRORS:
        return None


def file_digest(file, where, *parts):
    """What `digest_of` gives of the same layers, once a file is loaded into them."""
    if digest := read_digest(file):
        return digest
    with _open(file, where) as datasets:
        return digest_of_arrays(datasets[entry.name][()] for entry in weight_table(*parts))


def digest_of_arrays(arrays):
    """The SHA-256 of arrays as float32."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array, np.float32))
    return digest.hexdigest()


def _attribute(companion):
    return "keras_elmo_sha256" if companion is None else f"keras_elmo_{companion}_sha256"


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

    HDF5 itself writes again when the file is closed, and then ends the process with a signal.
    """
    with _Target(path) as target:
        with _File(target) as file:
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

    def __init__(self, target):
        super().__init__(target, "w")
        self._target = target

    def create_dataset(self, *args, **kwargs):
        self._target.check()
        dataset = super().create_dataset(*args, **kwargs)
        self._target.check()
        return dataset
