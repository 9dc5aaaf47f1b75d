"""The lines of text files and of standard input, as the command line reads them."""

import argparse
import contextlib
import io
import os

from keras_elmo.signals import check_signals
from keras_elmo.text_files import decode_lines, open_text, standard_input


class Lines:
    """The lines of a binary file as strings, which are checked as they are read.

    Args:
        file: binary file object.
        name: str, as errors name it.
        encoding, errors: see `decode_lines`.
        as_keys: bool. Check that each line can be the name of a dataset in HDF5.
        record: list to which every line is added that is read, or `None`.
    """

    def __init__(self, file, name, encoding, errors, as_keys=False, record=None):
        self.file, self.name = file, name
        self.encoding, self.errors = encoding, errors
        self.as_keys, self.record = as_keys, record

    def __iter__(self):
        for line in self.read():
            if self.record is not None:
                self.record.append(line)
            yield line

    def read(self):
        """The checked lines, which are not recorded."""
        numbers = {}  # of the lines that are keys
        lines = decode_lines(self.file, self.name, self.encoding, self.errors)
        for number, line in enumerate(lines, start=1):
            check_signals()
            if self.as_keys:
                self._check_key(line.strip(), number, numbers)
            yield line

    def _check_key(self, key, number, numbers):
        fault = None
        if key in numbers:
            fault = f"is that of line {numbers[key]:,} again"
        elif key in ("", "."):
            fault = "is empty" if not key else "is a dot alone"
        elif "/" in key or "\0" in key:
            fault = "holds a /, which parts groups in HDF5" if "/" in key else "holds a NUL"
        if fault:
            raise ValueError(
                "With --use-sentence-keys each sentence must be a name in the file. Received: "
                f"{self.name}, line {number:,}, whose sentence {fault}: {key[:60]!r}. Leave the "
                "option out: sentences are then named by their lines"
            )
        numbers[key] = number


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
        yield Lines(standard_input(), "standard input", *args)
        return
    with open_text(path) as file:
        kind = CountedLines if is_counted and os.path.isfile(path) else Lines
        yield kind(file, path, *args)


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
