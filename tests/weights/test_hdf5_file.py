import errno
import io
import os
import types

import h5py
import numpy as np
import pytest

from keras_elmo.weights import hdf5_file
from keras_elmo.weights.hdf5_file import create_hdf5


def test_what_is_written_can_be_read(tmp_path):
    path = tmp_path / "new.hdf5"
    path.write_bytes(b"an old file" * 1000)
    with create_hdf5(path) as file:
        file.create_dataset("a/b", data=np.arange(1000.0))
        file["c"] = [1, 2]
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["a/b"], np.arange(1000.0))
        assert file["c"][...].tolist() == [1, 2]


class FullDisk(hdf5_file._Target):
    """A file on a disk that has room for 10 kB."""

    def write(self, data):
        if self.tell() + len(data) > 10_000 and self._error is None:
            self._error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


def test_a_full_disk_is_one_error_at_the_next_dataset_or_at_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5_file, "_Target", FullDisk)
    created = []
    with pytest.raises(OSError, match="No space left on device") as caught:
        with create_hdf5(tmp_path / "new.hdf5") as file:
            for k in range(10):
                file.create_dataset(str(k), data=np.zeros(1000))
                created.append(k)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == tmp_path / "new.hdf5"
    assert len(created) < 10
    with pytest.raises(OSError, match="No space left on device"):
        with create_hdf5(tmp_path / "new.hdf5") as file:
            file.create_dataset("0", (1000,), chunks=(10,))[...] = 1


def test_a_partial_write_is_completed(tmp_path, monkeypatch):
    class Halves:
        def write(self, data):
            return io.FileIO.write(self, bytes(data)[: max(1, len(data) // 2)])

    monkeypatch.setattr(hdf5_file, "io", types.SimpleNamespace(FileIO=Halves))
    with hdf5_file._Target(tmp_path / "file") as target:
        assert target.write(b"x" * 1000) == 1000
    assert (tmp_path / "file").read_bytes() == b"x" * 1000


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        with create_hdf5(tmp_path / "nowhere/new.hdf5"):
            pass
