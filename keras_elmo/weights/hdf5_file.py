"""`create_hdf5`: opens an HDF5 file for writing, and raises one error if the disk is full."""

import contextlib
import io

import h5py


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
