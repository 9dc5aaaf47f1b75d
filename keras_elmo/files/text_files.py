"""Text files: finding them, opening them, and reading their lines.

`*.gz` files are decompressed. A byte-order mark and the ends of lines are not text.
"""

import codecs
import contextlib
import glob
import gzip
import hashlib
import io
import os
import select
import sys
import zlib

from keras_elmo.checks import short_repr
from keras_elmo.process.signals import check_signals

_FAULT = "\udc80"  # Stands for bytes that cannot be decoded. No decoded text holds it.
_WAITING_SECONDS = 0.2  # between two looks for signals while a pipe is empty

codecs.register_error("keras_elmo.mark", lambda error: (_FAULT, error.end))


def find_files(inputs):
    """The files that a path, or a list of paths, names; a list of strings, each file once.

    A path that does not exist may be a pattern with `*`, `?`, `[...]` or `**`, whose files come in
    the order of their names.
    """
    found = {}  # by its real path, as it was named first
    for path in [inputs] if isinstance(inputs, str | os.PathLike) else inputs:
        path = os.fspath(path)
        if os.path.isdir(path):
            raise IsADirectoryError(
                f"The input must be files, not a folder; write '{os.path.join(path, '*')}' for "
                f"the files in it. Received: {path}"
            )
        if path == "-" or is_pipe(path):
            raise ValueError(
                "The input is read several times, and so must be files; write what comes from "
                f"standard input, a pipe or a device to a file first. Received: {path}"
            )
        others = filter(os.path.isfile, glob.glob(path, recursive=True))
        if not (matches := [path] if os.path.exists(path) else sorted(others)):
            raise FileNotFoundError(f"There is no file {path}")
        for match in matches:
            found.setdefault(os.path.realpath(match), match)
    if not found:
        raise FileNotFoundError("There must be an input file. Received: none")
    return list(found.values())


@contextlib.contextmanager
def open_text(path, file=None):
    """Opens a text file for reading bytes; `*.gz` is decompressed, and `-` is standard input.

    A signal ends the waiting for standard input, and for a pipe. `file` is the `HashedFile` at this
    path, if there is one.
    """
    if path == "-":
        yield standard_input()
        return
    if is_pipe(path):  # Opened as usual, it would wait here for somebody who writes.
        file = io.BufferedReader(_Pipe(os.open(path, os.O_RDONLY | os.O_NONBLOCK)))
    else:
        file = open(path, "rb") if file is None else io.BufferedReader(file)
    with file:
        if not os.fspath(path).endswith(".gz"):
            yield file
            return
        try:
            if os.path.isfile(path) and os.path.getsize(path) == 0:
                raise EOFError("it is empty")  # Python reads it as a file of nothing.
            yield gzip.open(file)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} must be a whole gzip file. Received: {error}") from None


def is_pipe(path):
    """Whether a path is a named pipe or a device."""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def input_name(path):
    """What errors call a text file."""
    return "standard input" if path == "-" else path


def standard_input():
    """Standard input as a binary file object. A signal ends the waiting for more of it."""
    if sys.stdin is None:
        raise ValueError("Standard input must be open. Received: a closed one")
    try:
        return io.BufferedReader(_Pipe(sys.stdin.fileno(), closefd=False))
    except io.UnsupportedOperation:  # a stand-in without a descriptor
        return sys.stdin.buffer


class HashedFile(io.FileIO):
    """A file and the SHA-256 of the bytes that are read, from its beginning to its end."""

    def __init__(self, path):
        super().__init__(path)
        self.sha256 = hashlib.sha256()

    def readinto(self, buffer):
        count = super().readinto(buffer)
        self.sha256.update(memoryview(buffer)[:count])
        return count


class _Pipe(io.FileIO):
    """A file that may wait for what another program writes. Meanwhile it looks for signals."""

    def readinto(self, buffer):
        # Windows looks at sockets alone, and Ctrl-C ends its reading of a pipe.
        while os.name != "nt" and not select.select([self], [], [], _WAITING_SECONDS)[0]:
            check_signals()
        return super().readinto(buffer)

    def seekable(self):
        return False


def read_lines(path, encoding=None, errors="strict", keep_ends=False):
    """Yields the lines of a text file as strings; see `decode_lines`."""
    with open_text(path) as file:
        yield from decode_lines(file, input_name(path), encoding, errors, keep_ends)


def decode_lines(file, name, encoding=None, errors="strict", keep_ends=False):
    """Yields the lines of a binary file as strings, without their ends (`\\n`, `\\r\\n`, `\\r`).

    The file stays open. Errors call it `name`. `encoding=None` is UTF-8, where the caller has no
    choice of another one; `errors` is `"strict"` or `"replace"`. With `keep_ends` lines keep their
    ends: `csv` needs it so.
    """
    text = io.TextIOWrapper(
        file,
        encoding or "utf-8",
        "keras_elmo.mark" if errors == "strict" else errors,
        newline="" if keep_ends else "\n",
    )
    try:
        # `\r\r\n`, which Windows can make of `\r\n`, ends one line.
        lines = text if keep_ends else (x for line in text for x in line.rstrip("\r\n").split("\r"))
        for line_number, line in enumerate(lines, start=1):
            if line_number == 1:
                line = line.removeprefix("\ufeff")  # a byte-order mark
            if _FAULT in line:
                remedy = "Convert the file first, as with `iconv -f latin1 -t utf-8`"
                if encoding is not None:
                    remedy = 'Name it with `encoding` (as latin-1), or pass `errors="replace"`'
                line = line.replace(_FAULT, "\N{REPLACEMENT CHARACTER}")
                raise ValueError(
                    f"{name} must be {encoding or 'UTF-8'}, and is not. "
                    f"Received: line {line_number:,}: {short_repr(line)}. {remedy}"
                )
            yield line
    finally:
        with contextlib.suppress(ValueError):  # The file is closed already.
            text.detach()  # else it would close the file
