"""`create_hdf5`: HDF5 files for writing, which fail cleanly where the disk is full."""

import contextlib
import io

import h5py


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
