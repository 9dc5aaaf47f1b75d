"""Files of embeddings (HDF5 and npz): of sentences, to write and to read."""

import json
import os
import zipfile
from collections.abc import Sequence
from typing import Any, SupportsIndex, overload

import h5py
import numpy as np
import numpy.typing as npt

from keras_elmo.annotations import AnyPath
from keras_elmo.checks import join_names
from keras_elmo.weights.hdf5 import create_hdf5

_SENTENCE_INDEX = "sentence_to_index"  # the dataset where AllenNLP stores the sentences
_KEPT = "kept"  # the dataset of the fields that `keras-elmo embed --keep` stores
_ZIP_END_BYTES = 22  # the last record of a zip without a comment
_RULE = "must hold one array of floats for each sentence, named by its line: 0, 1, 2, ..."


def read_embeddings(path: AnyPath) -> "EmbeddingsFile":
    """Opens a file of sentence embeddings, as a sequence in the order of the lines.

    Args:
        path: an HDF5 file of `keras-elmo embed`, of bilm-tf's `dump_bilm_embeddings` or of
            `allennlp elmo`; or an `*.npz` file of `keras-elmo embed`.

    Returns:
        A sequence of NumPy arrays, one for each line: (tokens, D), (layers, tokens, D), or (D,).
        An array is read from the file when it is taken from the sequence. The sequence has a method
        `close`, and can be used in a `with` statement. Its attribute `kept` is a dict of the fields
        that `keras-elmo embed --keep` stored: by the name of each, a list of a value for each line.

    Raises:
        ValueError: the file is of another kind, or is damaged.
        OSError: there is no such file, or it cannot be opened.

    Example:

    >>> with read_embeddings("vectors.hdf5") as vectors:
    ...     print(len(vectors), [array.shape for array in vectors[-2:]])
    """
    path = os.fspath(path)
    open(path, "rb").close()  # raises Python's own PermissionError early
    try:
        if zipfile.is_zipfile(path):
            _check_count(path)
            file = np.load(path)
        else:
            file = h5py.File(path, "r")
        names = list(file)
    except Exception as error:  # Each library has its own errors.
        raise ValueError(
            f"{path} must be a whole HDF5 or npz file; it may be cut short, damaged, or of another "
            f"kind. Received: {error}"
        ) from None
    return EmbeddingsFile(path, file, names)


def _check_count(path):
    """Refuses a zip with a damaged entry in its directory, behind which Python finds no others."""
    with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
        found = len(archive.namelist())
        file.seek(-_ZIP_END_BYTES, os.SEEK_END)
        count = int.from_bytes(file.read()[10:12], "little")  # 65,535 also stands for more
    if count != min(found, 0xFFFF):
        raise ValueError(f"all {count:,} entries must be readable. Received: {found:,}")


class EmbeddingsFile(Sequence[npt.NDArray[Any]]):
    """The arrays of an open file, in the order of the lines; see `read_embeddings`."""

    def __init__(self, path, file, names):
        self.path, self._file = path, file
        names = {*map(os.fsdecode, names)}  # h5py gives bytes if a name is not UTF-8
        self._has_kept = _KEPT in names
        names -= {_SENTENCE_INDEX, _KEPT}
        self._count = len(names)
        if others := names - set(map(str, range(self._count))):
            file.close()
            raise ValueError(f"{path} {_RULE} Received: a file with {join_names(others)}")

    @property
    def kept(self) -> dict[str, list[Any]]:
        """The fields that `keras-elmo embed --keep` stored: by name, a list of a value a line."""
        return json.loads(self._read(_KEPT).item()) if self._has_kept else {}

    def _read(self, name):
        if self._file is None:
            raise ValueError(f"{self.path} must be open. Received: a closed file")
        try:
            return np.asarray(self._file[name])
        except Exception as error:  # Each library has its own errors.
            raise ValueError(
                f"{self.path} must be a whole file. Received: for line {name} an array that cannot "
                f"be read ({error})"
            ) from None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: SupportsIndex) -> npt.NDArray[Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[npt.NDArray[Any]]: ...

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(self._count))]
        # `range` raises the IndexError or TypeError of a list.
        array = self._read(str(range(self._count)[index]))
        if array.ndim not in (1, 2, 3) or array.dtype.kind != "f":
            raise ValueError(
                f"{self.path} {_RULE} Received: for line {index} an array of dtype {array.dtype} "
                f"and shape {array.shape}"
            )
        return array

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> "EmbeddingsFile":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def write_embeddings(path, arrays, sentences=None, kept=None):
    """Writes arrays to a file `*.npz`, or else as `allennlp elmo` does, in HDF5.

    `sentences`, and the lists of `kept` (see `EmbeddingsFile.kept`), may grow while the arrays are
    read. The sentences become `sentence_to_index`. Returns the number of arrays and of tokens.
    """
    count = tokens = 0
    is_npz = os.fspath(path).endswith(".npz")
    with zipfile.ZipFile(path, "w") if is_npz else create_hdf5(path) as file:

        def write(name, value, dtype=None):
            if not is_npz:
                file.create_dataset(name, data=value, dtype=dtype)
                return
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(value))

        for array in arrays:
            write(str(count), array)
            count, tokens = count + 1, tokens + (array.shape[-2] if array.ndim > 1 else 0)
        if sentences is not None:
            index = json.dumps({text: str(number) for number, text in enumerate(sentences)})
            write(_SENTENCE_INDEX, [index.encode()], h5py.string_dtype())
        if kept:
            write(_KEPT, [json.dumps(kept).encode()], h5py.string_dtype())
    return count, tokens
