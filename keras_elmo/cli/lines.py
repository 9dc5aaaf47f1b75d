"""The lines of text files and of standard input, as the command line reads them."""

import argparse
import contextlib
import io
import os
import select
import stat
import sys

from keras_elmo.corpora.lines import Lines
from keras_elmo.files import decompressed
from keras_elmo.signals import check_signals

_SECONDS = 0.2  # between two looks for signals while nothing comes


class CountedLines(Lines):
    """The same for a file that can be read twice: all of it is checked first, and counted."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._count = sum(1 for _ in self.read())
        self.file.seek(0)

    def __len__(self):
        return self._count


@contextlib.contextmanager
def open_lines(path, is_counted, *args):
    """Opens a text file, `*.gz` too, or standard input (`-`), as `Lines`.

    Args:
        path: str.
        is_counted: bool. Count the lines first, for a progress bar, where they can be read twice.
        *args: those of `Lines` after `name`.
    """
    if path == "-":
        yield Lines(_standard_input(), "standard input", *args)
        return
    with _open_file(path) as file, decompressed(file, path) as text:
        kind = CountedLines if is_counted and file.seekable() else Lines
        yield kind(text, path, *args)


def _standard_input():
    """Standard input as a binary file that a signal ends, also where nothing comes."""
    if sys.stdin is None:
        raise ValueError("Standard input must be open. Received: a closed one")
    try:
        return io.BufferedReader(_Pipe(sys.stdin.fileno(), closefd=False))
    except io.UnsupportedOperation:  # a stand-in without a descriptor
        return sys.stdin.buffer


def _open_file(path):
    """A file for reading bytes, which a signal ends, also where it is a pipe and nothing comes."""
    if not os.path.exists(path) or stat.S_ISREG(os.stat(path).st_mode) or os.path.isdir(path):
        return open(path, "rb")
    # Opened as usual, a named pipe would wait here for somebody who writes.
    return io.BufferedReader(_Pipe(os.open(path, os.O_RDONLY | os.O_NONBLOCK)))


class _Pipe(io.FileIO):
    """A file that may wait for what another program writes. Meanwhile it looks for signals."""

    def readinto(self, buffer):
        while not select.select([self], [], [], _SECONDS)[0]:
            check_signals()
        return super().readinto(buffer)

    def seekable(self):
        return False  # What is read is gone.


def add_encoding_arguments(parser, text):
    """Adds the options of how a text is decoded.

    Args:
        text: string. What the help calls the text.
    """
    parser.add_argument(
        "--encoding",
        default="utf-8",
        type=check_encoding,
        help=f"of {text} (default: %(default)s), such as latin-1 or utf-16",
    )
    parser.add_argument(
        "--errors",
        default="strict",
        choices=["strict", "replace"],
        help="what to do with lines of another encoding: refuse them (strict, the default), or "
        "replace what cannot be read by U+FFFD",
    )


def check_encoding(name):
    """An encoding as it is typed, if Python has it: the `type` of an option."""
    try:
        io.TextIOWrapper(io.BytesIO(), name)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(f"there is no encoding {name!r}") from None
    return name
