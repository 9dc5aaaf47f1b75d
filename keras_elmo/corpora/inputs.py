"""The text files of a run: their properties when it began, and their lines in order."""

from typing import NamedTuple

from keras_elmo.signals import check_signals
from keras_elmo.text_files import decode_lines, open_hashed


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


def scan_files(paths, encoding, errors):
    """Reads the files once: their hashes, and their lines, which are checked and counted.

    Args:
        paths: list of strings.
        encoding: str.
        errors: `"strict"` or `"replace"`; see `decode_lines`.

    Returns:
        list of `InputFile`s.

    Raises:
        ValueError: a file cannot be decoded, is not a whole gzip file, or has a name that is not
            UTF-8.
        OSError: a file cannot be read.
    """
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise ValueError(
                "The name of an input file must be UTF-8, since the vectors are stored with it; "
                f"rename the file. Received: {path!r}"
            ) from None
    files = []
    for path in paths:
        rows = 0
        with open_hashed(path) as (file, hashed):
            for _ in decode_lines(file, path, encoding, errors):
                check_signals()
                rows += 1
            files.append(InputFile(path, *hashed.finish(), rows))
    return files


def read_files(files, encoding, errors):
    """The lines of all files, in their order.

    Args:
        files: list of `InputFile`s.
        encoding: str.
        errors: see `decode_lines`.

    Yields:
        Pairs: the path of the file, and the line, a string.

    Raises:
        ValueError: a file has other bytes than when it was scanned. More lines are found before
            they are given, other bytes at the end of the file.
    """
    for file in files:
        count = 0
        with open_hashed(file.file) as (stream, hashed):
            for line in decode_lines(stream, file.file, encoding, errors):
                check_signals()
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
