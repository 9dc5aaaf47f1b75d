"""The lines of text files and of standard input, as the command line reads them."""

import argparse
import contextlib
import io
import os

from keras_elmo.files.records import FORMATS, PLAIN, Fields, decode_records
from keras_elmo.files.text_files import input_name, open_text
from keras_elmo.process.signals import check_signals


class Lines:
    """The lines of a binary file as strings, which are checked as they are read.

    With `fields` they are the texts of its records: strings, or lists of tokens.

    Args:
        file: binary file object.
        name: str, as errors name it.
        encoding, errors: see `decode_lines`.
        as_keys: bool. Check that each line can be the name of a dataset in HDF5.
        record: list to which every line is added that is read, or `None`.
        fields: `Fields`.

    Attributes:
        kept: dict. By the name of each field that is kept, a list of the values that were read.
    """

    def __init__(self, file, name, encoding, errors, as_keys=False, record=None, fields=PLAIN):
        fields.format_of(name)
        self.file, self.name = file, name
        self.encoding, self.errors = encoding, errors
        self.as_keys, self.record = as_keys, record
        self.fields, self.kept = fields, {field: [] for field in fields.keep}

    def __iter__(self):
        for record in self.read():
            if self.record is not None:
                self.record.append(record.line)
            for values, value in zip(self.kept.values(), record.kept, strict=True):
                values.append(value)
            yield record.text

    def read(self):
        """The checked lines as `Record`s, which are not recorded."""
        numbers = {}  # of the lines that are keys
        records = decode_records(self.file, self.name, self.encoding, self.errors, self.fields)
        for record in records:
            check_signals()
            if self.as_keys:
                self._check_key(record.line.strip(), record.line_number, numbers)
            yield record

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
def open_lines(path, is_counted, *args, **kwargs):
    """Opens a text file, `*.gz` too, or standard input (`-`), as `Lines`.

    Args:
        path: str.
        is_counted: bool. Count the lines first, for a progress bar, where they can be read twice.
        *args, **kwargs: those of `Lines` after `name`.
    """
    with open_text(path) as file:
        can_be_counted = path != "-" and os.path.isfile(path)
        kind = CountedLines if is_counted and can_be_counted else Lines
        yield kind(file, input_name(path), *args, **kwargs)


def add_reading_arguments(parser, formats=FORMATS):
    """Adds the options of how text files are read; `fields_of` takes some of them.

    Args:
        parser: the parser.
        formats: sequence of strings. The choices of `--format`.
    """
    parser.add_argument(
        "--field",
        metavar="NAME",
        help="the field or column that is the text, in JSON Lines (*.jsonl), CSV (*.csv) and TSV "
        "(*.tsv), whose first line names the columns; in JSON Lines it may be a list of tokens",
    )
    parser.add_argument(
        "--format",
        choices=formats,
        help="of the input, where its name does not say it, as of standard input; text reads each "
        "line as it is",
    )
    add_encoding_arguments(parser)


def add_encoding_arguments(parser):
    """Adds the options of how the bytes of text files are read."""
    parser.add_argument(
        "--encoding",
        default="utf-8",
        type=check_encoding,
        help="of the text (default: %(default)s), such as latin-1 or utf-16",
    )
    parser.add_argument(
        "--errors",
        default="strict",
        choices=["strict", "replace"],
        help="what to do with lines of another encoding: refuse them (strict, the default), or "
        "replace what cannot be read by U+FFFD",
    )


def fields_of(options):
    """The `Fields` that were typed."""
    return Fields(options.field, vars(options).get("keep", ()), options.format)


def check_encoding(name):
    """An encoding as it is typed, if Python has it: the `type` of an option."""
    try:
        io.TextIOWrapper(io.BytesIO(), name)
    except (LookupError, ValueError):
        raise argparse.ArgumentTypeError(f"there is no encoding {name!r}") from None
    return name
