"""`unpack`: the files in a zip or a tar file, with bounds for those that mean harm."""

import bz2
import contextlib
import gzip
import itertools
import lzma
import os
import posixpath
import re
import shutil
import tarfile
import tempfile
import zipfile

from keras_elmo.checks import join_names
from keras_elmo.config import OPTIONS_FILE

_UNCHECKED_BYTES = 2**26  # of a file, however well it is compressed
_MAX_COMPRESSION = 100
_MAX_BYTES = 2**34  # the checkpoint of the largest published model takes 6 GB
_MAX_MEMBERS = 4096  # a module of TensorFlow Hub has about ten
_MAX_HEADER = 1 << 20  # bytes: that of a long name has some hundred
_MAX_DEPTH = 32  # folders within each other
_TAR_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open, b"": open}


def unpack(file, where):
    """The files of a zip or a tar file, in a `tempfile.TemporaryDirectory`.

    A `ValueError`, which calls the file `where`, refuses other files, and what is not safe.
    """
    unpacked = tempfile.TemporaryDirectory(prefix="keras_elmo-", ignore_cleanup_errors=True)
    with contextlib.ExitStack() as stack:
        try:
            limit = max(_UNCHECKED_BYTES, _MAX_COMPRESSION * os.path.getsize(file))
            with open(file, "rb") as start:
                magic = start.read(6)
            opener = next(o for begin, o in _TAR_OPENERS.items() if magic.startswith(begin))
            stream = _Stream(stack.enter_context(opener(file, "rb")), min(limit, _MAX_BYTES), where)
            try:
                archive = stack.enter_context(tarfile.open(fileobj=stream, mode="r:"))
            except tarfile.ReadError:
                if opener is not open:
                    raise
                archive = stack.enter_context(zipfile.ZipFile(file))
                members, read = archive.infolist(), archive.open
                # Members may share their compressed bytes.
                stream.check(sum(member.file_size for member in members))
                files = {m.filename: m for m in members if not m.is_dir()}
            else:
                members, read = [*itertools.islice(archive, _MAX_MEMBERS + 1)], archive.extractfile
                files = {m.name: m for m in members if not m.isdir()}
                if others := [m.name for m in files.values() if not m.isreg() or m.issparse()]:
                    raise _Refusal(f"{where} must hold no link or device. Received: {others[0]}")
                while stream.read(tarfile.BLOCKSIZE):  # to the checksum at its end
                    pass
                stream.max_read = limit
            if len(members) > _MAX_MEMBERS:
                raise _Refusal(f"{where} must hold at most {_MAX_MEMBERS:,} files. Received: more")
            if unsafe := _unsafe_names(files):
                rule = "names that lead out of it, are too long, or are both a file and a folder"
                raise _Refusal(f"{where} must not hold {rule}. Received: {join_names(unsafe)}")
            for name, member in files.items():
                path = os.path.join(unpacked.name, posixpath.normpath(name))
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with read(member) as source, open(path, "wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
        except Exception as error:  # a broken index raises other errors than BadZipFile, too
            unpacked.cleanup()
            if isinstance(error, _Refusal) or getattr(error, "errno", None) is not None:
                raise  # an error of the disk has an `errno`; libraries give none
            raise ValueError(
                f"{where} must be a folder, or a whole zip or tar file with {OPTIONS_FILE} and one "
                f"*.hdf5, without a password. Received: a file with an error ({error})"
            ) from None
    return unpacked


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
            rule = f"must have headers of at most {self.max_read:,} bytes"
            raise _Refusal(f"{self._where} {rule}. Received: {size:,}")
        data = self._file.read(size)
        self.check(self.tell())
        is_header = self.max_read == _MAX_HEADER and size > tarfile.BLOCKSIZE
        if is_header and re.search(rb"\d{25}", data):
            # In older versions of Python tarfile needs hours for them: CVE-2024-6232.
            raise _Refusal(f"{self._where} must not have headers of digits. Received: {data[:9]}")
        return data

    def seek(self, position):
        self.check(position)
        return self._file.seek(position)

    def check(self, size):
        if size > self._limit:
            raise _Refusal(
                f"{self._where} must be compressed at most {_MAX_COMPRESSION} times. "
                f"Received: a file that gives more than {self._limit:,} bytes"
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
