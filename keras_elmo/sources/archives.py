"""`open_archive`: the files in a zip or a tar file, with bounds for those that mean harm."""

import contextlib
import io
import os
import posixpath
import shutil
import tarfile
import tempfile
import zipfile

from keras_elmo.checks import join_names
from keras_elmo.config import OPTIONS_FILE, check_size
from keras_elmo.sources.download import max_weights_size

_UNCHECKED_BYTES = 2**26  # of a file, however well it is compressed
_MAX_COMPRESSION = 100


@contextlib.contextmanager
def open_archive(file, where):
    """Opens a zip or a tar file by its content, and yields an `Archive`.

    Raises a `ValueError` for anything else, and for names that lead out of the file.
    """
    with contextlib.ExitStack() as stack:
        try:
            size = os.path.getsize(file)
            if tarfile.is_tarfile(file):
                archive = stack.enter_context(tarfile.open(file))
                members = _tar_members(archive, size, where)
            else:
                archive = stack.enter_context(zipfile.ZipFile(file))
                members = {
                    member.filename: (member, member.file_size, member.compress_size)
                    for member in archive.infolist()
                    if member.filename[-1:] != "/"
                }
                # Members may share their compressed bytes.
                _check_compression(sum(size for _, size, _ in members.values()), size, where)
        except Exception as error:  # a broken index raises other errors than BadZipFile, too
            if isinstance(error, _Refusal) or getattr(error, "errno", None) is not None:
                raise  # an error of the disk has an `errno`; libraries give none
            raise ValueError(
                f"{where} must be a folder, or a whole zip or tar file with {OPTIONS_FILE} and one "
                f"*.hdf5. Received: a file with an error ({error})"
            ) from None
        if unsafe := list(filter(_leads_outside, members)):
            raise ValueError(
                f"{where} must not hold names that lead out of it. Received: {join_names(unsafe)}"
            )
        yield Archive(archive, members, where)


class _Refusal(ValueError):
    """What the file holds is refused, though it can be read."""


def _tar_members(archive, size, where):
    members, total = {}, 0
    for member in archive:  # which reads all that stands before it
        total += member.size
        _check_compression(total, size, where)
        if not (member.isfile() or member.isdir()):
            raise _Refusal(
                f"{where} must hold files and folders. Received: {member.name}, a link or a device"
            )
        if member.isfile():
            members[member.name] = member, member.size, member.size
    return members


def _check_compression(size, compressed, where):
    if size > max(_UNCHECKED_BYTES, _MAX_COMPRESSION * compressed):
        raise _Refusal(
            f"{where} must be compressed at most {_MAX_COMPRESSION} times, as weights are. "
            f"Received: {size:,} bytes in {compressed:,}"
        )


def _leads_outside(name):
    parts = name.replace("\\", "/").split("/")
    return parts[0] == "" or ":" in parts[0] or ".." in parts


class Archive:
    """The files of an open zip or tar file, which error messages call `where`.

    `members` has by name the library's object, the size, and the compressed size.
    """

    def __init__(self, archive, members, where):
        self.where, self._archive = where, archive
        self._members = {posixpath.normpath(name): member for name, member in members.items()}
        self.names = list(self._members)

    def shown(self, name):
        return f"{self.where}:{name}"

    def has(self, name):
        return posixpath.normpath(name) in self._members

    def read(self, name, limit):
        name = posixpath.normpath(name)
        if name not in self._members:
            raise ValueError(f"{self.where} must hold {name}. Received: a file without it")
        check_size(self._members[name][1], self.shown(name), limit)
        return self._content(name)

    def weights(self, name, config):
        """A file of weights for `config`: a binary file object, in memory."""
        max_size = max_weights_size(sum(config.num_parameters().values()))
        if (size := self._members[name][1]) > max_size:
            raise ValueError(
                f"{self.shown(name)} must be at most {max_size:,} bytes, with these options. "
                f"Received: {size:,}"
            )
        file = io.BytesIO(self._content(name))
        file.name = self.shown(name)  # for errors
        return file

    def extract(self):
        """All files in a temporary folder, which is removed with the last reference to it."""
        folder = tempfile.TemporaryDirectory(prefix=f"{os.path.basename(self.where)}-")
        for name in self.names:
            path = os.path.join(folder.name, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with self._opened(name) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        return folder

    def _content(self, name):
        with self._opened(name) as file:
            return file.read()

    @contextlib.contextmanager
    def _opened(self, name):
        member, size, compressed = self._members[name]
        # Both the sizes and the config come from the file, so neither bounds the other.
        _check_compression(size, compressed, self.shown(name))
        is_tar = isinstance(self._archive, tarfile.TarFile)
        open_member = self._archive.extractfile if is_tar else self._archive.open
        try:
            with open_member(member) as file:
                yield file
        except Exception as error:  # each kind of compression has its own errors
            if getattr(error, "errno", None) is not None:
                raise
            raise ValueError(
                f"{self.where} must be a file that can be read; make it again, without a password. "
                f"Received: a file with an error ({error})"
            ) from None


class ExtractedPath(os.PathLike):
    """A path in a temporary folder, which is there as long as this object."""

    def __init__(self, path, folder):
        self._path, self._folder = path, folder

    def __fspath__(self):
        return self._path

    def __str__(self):
        return self._path
