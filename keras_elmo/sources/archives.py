"""`open_archive`: the files in a zip or a tar file, with bounds for those that mean harm."""

import bz2
import contextlib
import gzip
import io
import itertools
import lzma
import os
import posixpath
import re
import shutil
import tarfile
import tempfile
import weakref
import zipfile

from keras_elmo.checks import join_names
from keras_elmo.config import OPTIONS_FILE, check_size
from keras_elmo.sources.download import max_weights_size

_UNCHECKED_BYTES = 2**26  # of a file, however well it is compressed
_MAX_COMPRESSION = 100
_MAX_MEMBERS = 4096  # a module of TensorFlow Hub has about ten
_MAX_HEADER = 1 << 20  # bytes: that of a long name has some hundred
_MAX_DEPTH = 32  # folders within each other
_TAR_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open, b"": open}


@contextlib.contextmanager
def open_archive(file, where):
    """Opens a zip or a tar file by its content, and yields an `Archive`.

    Raises a `ValueError` for anything else, and for what cannot be unpacked safely.
    """
    with contextlib.ExitStack() as stack:
        try:
            limit = max(_UNCHECKED_BYTES, _MAX_COMPRESSION * os.path.getsize(file))
            with open(file, "rb") as start:
                magic = start.read(6)
            opener = next(o for begin, o in _TAR_OPENERS.items() if magic.startswith(begin))
            stream = _Stream(stack.enter_context(opener(file, "rb")), limit, where)
            try:
                archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r:"))
            except tarfile.ReadError:
                if opener is not open:
                    raise
                archive = stack.enter_context(zipfile.ZipFile(file))
                members, read = archive.infolist(), archive.open
                # Members may share their compressed bytes.
                stream.check(sum(member.file_size for member in members))
                files = {m.filename: (m, m.file_size) for m in members if not m.is_dir()}
            else:
                members, read = [*itertools.islice(archive, _MAX_MEMBERS + 1)], archive.extractfile
                files = {m.name: (m, m.size) for m in members if not m.isdir()}
                if others := [m.name for m, _ in files.values() if not m.isreg() or m.issparse()]:
                    raise _Refusal(
                        f"{where} must hold files and folders. "
                        f"Received: {others[0]}, a link or a device"
                    )
                while stream.read(tarfile.BLOCKSIZE):  # to the checksum at its end
                    pass
                stream.max_read = limit
            if len(members) > _MAX_MEMBERS:
                raise _Refusal(f"{where} must hold at most {_MAX_MEMBERS:,} files. Received: more")
            if unsafe := _unsafe_names(files):
                raise _Refusal(
                    f"{where} must not hold names that lead out of it, that are too long, or of a "
                    f"file and a folder at once. Received: {join_names(unsafe)}"
                )
        except Exception as error:  # a broken index raises other errors than BadZipFile, too
            if isinstance(error, _Refusal) or getattr(error, "errno", None) is not None:
                raise  # an error of the disk has an `errno`; libraries give none
            raise ValueError(
                f"{where} must be a folder, or a whole zip or tar file with {OPTIONS_FILE} and one "
                f"*.hdf5. Received: a file with an error ({error})"
            ) from None
        yield Archive(files, read, where)


class _Refusal(ValueError):
    """What the file holds is refused, though it can be read."""


class _Stream:
    """What a compressed file gives, to `tarfile`: an error ends what would never end.

    As long as the members are listed, a read is that of a header.
    """

    def __init__(self, file, limit, where):
        self._file, self._limit, self._where = file, limit, where
        self.max_read, self.tell = _MAX_HEADER, file.tell

    def read(self, size):
        if size > self.max_read:
            raise _Refusal(
                f"{self._where} must have headers of at most {self.max_read:,} bytes. "
                f"Received: {size:,}"
            )
        data = self._file.read(size)
        self.check(self.tell())
        is_header = self.max_read == _MAX_HEADER and size > tarfile.BLOCKSIZE
        if is_header and re.search(rb"\d{25}", data):
            # In older versions of Python tarfile needs hours for them: CVE-2024-6232.
            raise _Refusal(
                f"{self._where} must not have headers of digits. Received: {data[:9]}..."
            )
        return data

    def seek(self, position):
        self.check(position)
        return self._file.seek(position)

    def check(self, size):
        if size > self._limit:
            raise _Refusal(
                f"{self._where} must be compressed at most {_MAX_COMPRESSION} times, as weights "
                f"are. Received: a file that gives more than {self._limit:,} bytes"
            )


def _unsafe_names(names):
    parts_of = {name: posixpath.normpath(name).split("/") for name in names}
    folders = {tuple(p[:k]) for p in parts_of.values() for k in range(min(len(p), _MAX_DEPTH))}

    def is_unsafe(name):
        raw, parts = name.replace("\\", "/").split("/"), parts_of[name]
        leads_outside = raw[0] == "" or ":" in raw[0] or ".." in raw
        is_long = len(parts) > _MAX_DEPTH or max(len(os.fsencode(part)) for part in parts) > 255
        return leads_outside or is_long or tuple(parts) in folders

    return list(filter(is_unsafe, names))


class _Unpacked:
    """A temporary folder, which `remove` or the end of its last reference removes."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="keras_elmo-")
        self.remove = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


class Archive:
    """The files of an open zip or tar file, which error messages call `where`.

    `members` has by name what the function `read` opens, and the size.
    """

    unpacked = None

    def __init__(self, members, read, where):
        self.where, self._read = where, read
        self._members = {posixpath.normpath(name): member for name, member in members.items()}
        self.names = list(self._members)

    def shown(self, name):
        return f"{self.where}:{name}"

    def has(self, name):
        return posixpath.normpath(name) in self._members

    def read(self, name, limit, where):
        name = posixpath.normpath(name)
        if name not in self._members:
            raise ValueError(f"{self.where} must hold {name}. Received: a file without it")
        check_size(self._members[name][1], where, limit)
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
        """All files in a temporary folder, an `_Unpacked`."""
        unpacked = _Unpacked()
        for name in self.names:
            path = os.path.join(unpacked.path, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with self._opened(name) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        return unpacked

    def _content(self, name):
        with self._opened(name) as file:
            return file.read()

    @contextlib.contextmanager
    def _opened(self, name):
        try:
            with self._read(self._members[name][0]) as file:
                yield file
        except Exception as error:  # each kind of compression has its own errors
            if getattr(error, "errno", None) is not None:
                raise
            raise ValueError(
                f"{self.where} must be a file that can be read; make it again, without a password. "
                f"Received: a file with an error ({error})"
            ) from None
