"""The text files of a run: which they are, what they hold, and their lines in order."""

import contextlib
import glob
import hashlib
import io
import os
from typing import NamedTuple

from keras_elmo.corpora.lines import Lines
from keras_elmo.files import decompressed

_BYTES_PER_READ = 1 << 20


class InputFile(NamedTuple):
    """A text file as it was when a run began.

    Attributes:
        file: str. The path as the user gave it.
        bytes: int. The size of the file.
        sha256: str. The hash of the file, as it is on the disk.
        rows: int. The number of its lines.
    """

    file: str
    bytes: int
    sha256: str
    rows: int


def find_files(inputs):
    """The paths that a list of paths and patterns names.

    Args:
        inputs: a path, or a list of paths. A path that is no file may be a pattern with `*`, `?`,
            `[...]` or `**`. The files of a pattern come in the order of their names.

    Returns:
        list of strings.

    Raises:
        ValueError: there is no input, or one file is named twice.
        OSError: there is no such file, or it is a folder.
    """
    if isinstance(inputs, str | os.PathLike):
        inputs = [inputs]
    found = []
    for path in map(os.fspath, inputs):
        if path == "-":
            raise ValueError(
                "A run that can be continued reads its input again, so the input must be files. "
                "Write standard input to a file first. Received: -"
            )
        if os.path.isdir(path):
            raise IsADirectoryError(
                f"The input must be files, not a folder; write '{os.path.join(path, '*')}' for "
                f"the files in it. Received: {path}"
            )
        matches = [path]
        if not os.path.exists(path) and glob.has_magic(path):
            matches = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
        if not matches or not os.path.exists(matches[0]):
            raise FileNotFoundError(f"There is no such input file. Received: {path}")
        for match in matches:
            try:
                match.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    "The name of an input file must be UTF-8, since the vectors are stored with "
                    f"it; rename the file. Received: {match!r}"
                ) from None
        found += matches
    if not found:
        raise ValueError("There must be an input file. Received: an empty list")
    seen = {}
    for path in found:
        status = os.stat(path)
        key = status.st_dev, status.st_ino
        if key in seen:
            raise ValueError(
                f"Each input file must be named once. Received: {seen[key]} and {path}, which are "
                "one file"
            )
        seen[key] = path
    return found


def scan_files(paths, encoding, errors):
    """Reads the files once: their hashes, and their lines, which are checked and counted.

    Args:
        paths: list of strings.
        encoding: str.
        errors: `"strict"` or `"replace"`; see `Lines`.

    Returns:
        list of `InputFile`s.

    Raises:
        ValueError: a file cannot be decoded, or is no whole gzip file.
        OSError: a file cannot be read.
    """
    files = []
    for path in paths:
        with _open_hashed(path) as (file, hashed):
            rows = sum(1 for _ in Lines(file, path, encoding, errors).read())
            files.append(InputFile(path, *hashed.finish(), rows))
    return files


def read_files(files, encoding, errors):
    """The lines of all files, in their order.

    Args:
        files: list of `InputFile`s.
        encoding: str.
        errors: see `Lines`.

    Yields:
        Pairs: the path of the file, and the line, a string.

    Raises:
        ValueError: a file has other bytes than when it was scanned. More lines are found before
            they are given, other bytes at the end of the file.
    """
    for file in files:
        count = 0
        with _open_hashed(file.file) as (stream, hashed):
            for line in Lines(stream, file.file, encoding, errors).read():
                count += 1
                if count > file.rows:
                    break
                yield file.file, line
            size, sha256 = hashed.finish()
        if (count, size, sha256) != (file.rows, file.bytes, file.sha256):
            raise ValueError(
                f"{file.file} must not change while it is read. Received: {file.rows:,} lines and "
                f"{file.bytes:,} bytes when the run began, and other ones now. Name another "
                "folder, or begin anew with `overwrite`"
            )


@contextlib.contextmanager
def _open_hashed(path):
    """A text file for reading bytes, which are hashed as they are read; `*.gz` is decompressed.

    Yields:
        The binary file object, and the `_HashedFile`.

    Raises:
        ValueError: see `open_text`.
    """
    with (
        _HashedFile(path) as hashed,
        decompressed(io.BufferedReader(hashed, _BYTES_PER_READ), path) as file,
    ):
        yield file, hashed


class _HashedFile(io.FileIO):
    """A file that hashes the bytes that are read, from its beginning to its end."""

    def __init__(self, path):
        super().__init__(path, "rb")
        self._digest, self._size = hashlib.sha256(), 0

    def readinto(self, buffer):
        count = super().readinto(buffer)
        self._digest.update(memoryview(buffer)[:count])
        self._size += count
        return count

    def seekable(self):
        return False  # Each byte is read once.

    def finish(self):
        """The size and the SHA-256 of the whole file, of which the rest is read."""
        while self.readinto(bytearray(_BYTES_PER_READ)):
            pass
        return self._size, self._digest.hexdigest()
