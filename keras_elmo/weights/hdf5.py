"""Reads and writes the original weight files, through the table of `layout.py`."""

import contextlib
import os
import tempfile

import h5py
import numpy as np

from keras_elmo.weights.layout import table


def load_weights(file, character_encoder=None, bilm=None):
    """Fills layers from a weight file of the original (bilm-tf, AllenNLP).

    Everything is checked before a variable changes: a file with a fault changes nothing.

    Args:
        file: path, or a binary file object.
        character_encoder: a built `CharCNNEmbedding`, or `None`: its datasets are passed over.
        bilm: a built `BiLM`, or `None`, the same.

    Raises:
        ValueError: the file is no HDF5 file; or datasets are missing, are not used, have another
            shape, are no floats, cannot be read or hold NaN or infinity. All are named at once.
        OSError: there is no such file, or it cannot be opened.

    Example:

    >>> load_weights("weights.hdf5", bilm=bilm)

    Reference: `_pretrained_initializer` in bilm-tf's bilm/model.py.
    """
    rows = table(character_encoder, bilm)
    where = file if isinstance(file, str | os.PathLike) else getattr(file, "name", "the file")
    with _open(file, where) as source:
        faults = _faults(source, rows, parts=(character_encoder, bilm))
        if faults:
            raise ValueError(
                f"{where} does not hold the weights of this model; nothing was changed. Check that "
                "the options and the weights belong together, and that the file is whole:\n  "
                + "\n  ".join(faults)
            )
        # A second reading, rather than a second copy of all weights in memory.
        for row in rows:
            for variable, array in zip(row.variables, row.split(_read(source, row)), strict=True):
                variable.assign(array)


def save_weights(file, character_encoder=None, bilm=None):
    """Writes layers as a weight file that the originals read.

    The file is written beside its place and moved there when it is whole.

    Args:
        file: path. An existing file is replaced.
        character_encoder: a built `CharCNNEmbedding`, or `None` to leave it out.
        bilm: a built `BiLM`, or `None`, the same.
    """
    with replacing(file) as temporary, h5py.File(temporary, "w") as target:
        for row in table(character_encoder, bilm):
            arrays = [np.asarray(variable.numpy(), np.float32) for variable in row.variables]
            target.create_dataset(row.name, data=row.join(arrays))


@contextlib.contextmanager
def replacing(path):
    """A temporary path beside `path`: renamed to it at the end, removed after an error."""
    path = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} must be an existing folder. Received: {path}")
    if os.path.isdir(path):
        raise IsADirectoryError(f"A file must be named, not a folder. Received: {path}")
    handle, temporary = tempfile.mkstemp(
        prefix=f".{os.path.basename(path)}.", suffix=".part", dir=folder
    )
    os.close(handle)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # mkstemp's files are the owner's alone
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.remove(temporary)
        raise


def _open(file, where):
    if isinstance(file, str | os.PathLike):
        if not os.path.exists(file):
            raise FileNotFoundError(f"There is no weight file {where}")
        if os.path.isdir(file):
            raise IsADirectoryError(f"A weight file must be named, not a folder. Received: {where}")
        open(file, "rb").close()  # where it may not be read, Python says so best
    try:
        return h5py.File(file, "r")
    except OSError as error:
        raise ValueError(
            f"{where} must be a whole HDF5 file; it may be cut short, or of another kind. Copy or "
            f"download it again. ({error})"
        ) from None


def _read(source, row):
    return np.asarray(source[row.name][()], np.float32)


def _faults(source, rows, parts):
    present = {}
    source.visititems(
        lambda name, item: present.update({name: item}) if isinstance(item, h5py.Dataset) else None
    )
    faults = []
    for row in rows:
        item = present.pop(row.name, None)
        if item is None:
            faults.append(f"missing: {row.name}, expected shape {row.shape}")
        elif tuple(item.shape) != row.shape:
            faults.append(f"shape: {row.name}, expected {row.shape}, in the file {item.shape}")
        elif item.dtype.kind != "f":
            faults.append(f"dtype: {row.name}, expected float32, in the file {item.dtype}")
        else:
            try:
                array = _read(source, row)
            except OSError as error:
                faults.append(f"unreadable: {row.name} ({error})")
                continue
            # Minimum and maximum pass NaN on, and need no second array.
            if array.size and not np.isfinite([array.min(), array.max()]).all():
                faults.append(f"values: {row.name} holds NaN or infinity")
    encoder, bilm = parts
    for name in sorted(present):
        is_bilm = name.startswith("RNN_")
        if (bilm if is_bilm else encoder) is not None:
            faults.append(f"not used: {name}, shape {present[name].shape}")
    return faults
