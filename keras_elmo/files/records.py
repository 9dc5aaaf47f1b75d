"""Records: the sentences of text files, each a line, or a field of JSON Lines, CSV, TSV or FASTA.

A file of JSON Lines holds an object on each line. CSV and TSV hold the names of their columns in
the first line. CSV is what Python's `csv` reads: a field in quotes may hold commas and ends of
lines, which stay as they are. TSV has no quotes. Blank lines, and rows whose fields are all blank,
are not records. A record of FASTA is a line `>id description` and the lines of a sequence, which
are joined; its fields are `id`, `description` and `sequence`.
"""

import csv
import dataclasses
import itertools
import json
import os
from typing import NamedTuple

from keras_elmo.checks import check_choice, join_names, short_repr
from keras_elmo.files.text_files import (
    HashedFile,
    decode_lines,
    input_name,
    is_pipe,
    open_text,
)
from keras_elmo.process.signals import check_signals

FORMATS = ("text", "jsonl", "csv", "tsv", "fasta")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_SUFFIXES |= dict.fromkeys((".fasta", ".fa", ".faa"), "fasta")
_MAX_FIELD = 2**31 - 1  # characters: the largest limit of `csv` on every system; 131,072 without it


def suffix_of(path):
    """How a path ends, in lower case, such as `".csv"`; `.gz` does not count."""
    return os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]


@dataclasses.dataclass(frozen=True)
class Fields:
    """What is read of each record.

    Args:
        field: str. The name of the field that is the text. `None`: each line is a text, or of FASTA
            each sequence.
        keep: sequence of strings. The names of fields whose values are kept beside the text. If all
            files are FASTA, `id` is kept by default.
        format: one of `FORMATS`. `None`: that of the file's name, `*.jsonl`, `*.ndjson`, `*.csv`,
            `*.tsv`, `*.fasta`, `*.fa`, `*.faa` (or with `.gz`); text for all others.

    Raises:
        ValueError: an argument is not as said above, or `keep` is given without `field`.
    """

    field: str | None = None
    keep: tuple = ()
    format: str | None = None

    def __post_init__(self):
        check_choice((None, *FORMATS), format=self.format)
        is_list = isinstance(self.keep, list | tuple) and len(set(self.keep)) == len(self.keep)
        if not is_list or (self.keep and self.field is None):
            raise ValueError(
                "`keep` must name fields, each once, and be given with `field`. "
                f"Received: keep={short_repr(self.keep)}"
            )
        object.__setattr__(self, "keep", tuple(self.keep))

    def format_of(self, path):
        """The format of a file, one of `FORMATS`.

        Raises:
            ValueError: the file has fields and there is no `field`, or the other way round.
        """
        format = self.format or _SUFFIXES.get(suffix_of(path), "text")
        if format not in ("text", "fasta") and self.field is None:
            raise ValueError(
                f"`field` must name the field of {path} that is the text. Received: no name. "
                "(`format=text` reads each line as it is.)"
            )
        if format == "text" and self.field is not None:
            raise ValueError(
                f"With `field`, {path} must be JSON Lines, CSV or TSV, which its name says (as "
                "*.jsonl, *.csv, *.tsv), or `format`. Received: text"
            )
        return format

    def of_files(self, names):
        """These fields, or those of FASTA if all files are of that format and none is named.

        Raises:
            ValueError: see `format_of`.
        """
        if {self.format_of(name) for name in names} == {"fasta"} and self.field is None:
            return dataclasses.replace(self, field="sequence", keep=("id",))
        return self


PLAIN = Fields(format="text")  # Each line is a text, whatever the name of the file.


class Record(NamedTuple):
    """A sentence of a file.

    Attributes:
        line_number: int, from 1. The line on which it begins.
        text: str, or a list of strings, which are tokens.
        kept: list. The values of the fields that are kept.
    """

    line_number: int
    text: object
    kept: list = []

    @property
    def line(self):
        """The text as a string: of tokens, with spaces between them."""
        return self.text if isinstance(self.text, str) else " ".join(self.text)


class InputFile(NamedTuple):
    """A text file as it was when it was read for the first time.

    Attributes:
        file: str. The path as the user gave it.
        bytes: int. The size of the file on the disk. `None` for standard input and pipes.
        sha256: str. The hash of these bytes, or `None`.
        rows: int. The number of its records.
    """

    file: str
    bytes: int | None
    sha256: str | None
    rows: int


class InputChanged(ValueError):
    """A file has other bytes than when it was read for the first time."""


class Records:
    """The records of text files, which are checked as they are read.

    An iteration gives their texts: strings, or lists of tokens. `len` is the number of records,
    once they were read or counted.

    Args:
        paths: list of strings: files, `*.gz` too, or `-` for standard input.
        encoding, errors: see `decode_lines`.
        fields: `Fields`.
        check: function that is called with each record, and may raise an error. `None`: no check.
        lines: list to which an iteration appends the text of each record as a string, or `None`.

    Attributes:
        files: list of `InputFile`s, once all files were read to their end. Until then `None`.
        kept: dict. By the name of each field that is kept, a list of the values that an iteration
            came to.

    Raises:
        ValueError: see `Fields.format_of`. While it is read: see `decode_records`.
        InputChanged: at the end of a file: it has other bytes than in the first reading.
        OSError: a file cannot be read.
    """

    def __init__(
        self, paths, encoding="utf-8", errors="strict", fields=PLAIN, check=None, lines=None
    ):
        fields = fields.of_files(list(map(input_name, paths)))
        for path in paths:
            if path != "-" and not is_pipe(path):
                open(path, "rb").close()  # raises Python's own error early
        self.paths, self.fields = paths, fields
        self.encoding, self.errors = encoding, errors
        self.check, self.lines = check, lines
        self.kept = {field: [] for field in fields.keep}
        self.files = None

    def count(self):
        """Reads and checks all files, if they were not read to their end. Returns `len`."""
        if self.files is None:
            for _ in self.read():
                pass
        return len(self)

    def __len__(self):
        if self.files is None:
            # `list` asks for a length first, and then goes on without it.
            raise TypeError("The records must be counted before. Received: records without a count")
        return sum(file.rows for file in self.files)

    def __iter__(self):
        for _, record in self.read():
            if self.lines is not None:
                self.lines.append(record.line)
            for values, value in zip(self.kept.values(), record.kept, strict=True):
                values.append(value)
            yield record.text

    def read(self):
        """Yields pairs: the path of a file, and a `Record`. `lines` and `kept` do not grow."""
        files = []
        for path in self.paths:
            name, rows = input_name(path), 0
            hashed = HashedFile(path) if os.path.isfile(path) else None  # a pipe
            with open_text(path, hashed) as file:
                for record in decode_records(file, name, self.encoding, self.errors, self.fields):
                    check_signals()
                    if self.check is not None:
                        self.check(record)
                    rows += 1
                    yield path, record
            digest = hashed and hashed.sha256.hexdigest()
            files.append(InputFile(path, hashed and os.path.getsize(path), digest, rows))
            if self.files is not None and files[-1] != self.files[len(files) - 1]:
                raise InputChanged(
                    f"{path} must not change while it is read. Received: other bytes than in the "
                    "first reading"
                )
        self.files = files


def decode_records(file, name, encoding=None, errors="strict", fields=PLAIN):
    """Yields the `Record`s of a binary file.

    Args:
        file, name, encoding, errors: see `decode_lines`.
        fields: a `Fields`.

    Raises:
        ValueError: a line is not a record of the format, a field is missing, or a text is neither a
            string nor a list of strings. The message has the line. See also `decode_lines` and
            `Fields.format_of`.
    """
    format = fields.format_of(name)
    lines = decode_lines(file, name, encoding, errors, keep_ends=format == "csv")
    if format == "text":
        yield from itertools.starmap(Record, enumerate(lines, start=1))
        return
    names = (fields.field or "sequence", *fields.keep)
    if format == "jsonl":
        found = _json_records(lines, name)
    elif format == "fasta":
        found = _fasta_records(lines, name)
    else:
        found = _table_records(format, lines, name, names)
    for line_number, record in found:
        if missing := [field for field in names if field not in record]:
            raise ValueError(
                f"Each record of {name} must have a field {missing[0]!r}. Received: line "
                f"{line_number:,}, with {join_names(record) or 'no field'}"
            )
        text, *kept = (record[field] for field in names)
        parts = text if isinstance(text, list) else [text]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(
                f"The field {fields.field!r} of {name} must be a string, or a list of strings, "
                f"which are tokens. Received: line {line_number:,}, {short_repr(text)}"
            )
        yield Record(line_number, text, kept)


def _json_records(lines, name):
    """Yields pairs: the number of a line, and its object, a dict."""
    for line_number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if "\\ud" in line.lower():  # Half of a surrogate pair is not text.
                json.dumps(record, ensure_ascii=False).encode()
            fault = None if isinstance(record, dict) else short_repr(record)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", error)
            fault = f"{short_repr(line)}, which cannot be read ({reason})"
        if fault:
            raise ValueError(
                f"Each line of {name} must be a JSON object, as in JSON Lines. "
                f"Received: line {line_number:,}, {fault}"
            )
        yield line_number, record


def _fasta_records(lines, name):
    """Yields pairs: the number of a record's first line, and its fields, a dict."""
    first, header, parts = 0, None, []
    for line_number, line in enumerate(itertools.chain(lines, [">"]), start=1):
        if not line.startswith(">"):
            if header is None and line.strip():
                raise ValueError(
                    f"{name} must be FASTA, which begins with a line >id. "
                    f"Received: line {line_number:,}, {short_repr(line)}"
                )
            parts.append(line.strip())
            continue
        if header is not None:
            key, _, description = header.partition(" ")
            record = {"id": key, "description": description, "sequence": "".join(parts)}
            yield first, record
        first, header, parts = line_number, line[1:].strip(), []


def _table_records(format, lines, name, names):
    """Yields pairs: the number of a row's first line, and a dict of its fields by their columns."""
    if format == "csv":
        rows = _csv_rows(lines, name)
    else:
        rows = enumerate((line.split("\t") for line in lines), start=1)
    columns = None
    for line_number, row in rows:
        if not any(map(str.strip, row)):
            continue
        if columns is None:
            columns = row
            for field in names:
                if columns.count(field) != 1:
                    hint = "; semicolons do not separate columns" if ";" in columns[0] else ""
                    raise ValueError(
                        f"{name} must have a column {field!r} in its first line, once. "
                        f"Received: {short_repr(columns)}{hint}"
                    )
            continue
        if len(row) != len(columns):
            raise ValueError(
                f"Each row of {name} must have the {len(columns)} fields that its first line "
                f"names. Received: line {line_number:,}, with {len(row)}: {short_repr(row)}"
            )
        yield line_number, dict(zip(columns, row, strict=True))


def _csv_rows(lines, name):
    """Yields pairs: the number of a row's first line, and its fields."""
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(lines, strict=True)
    while True:
        line_number = reader.line_num + 1
        try:
            yield line_number, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ValueError(
                f"{name} must be CSV, in which a field with a quote is in quotes, and quotes in "
                f'it are doubled (""). Received: line {line_number:,}, {error}'
            ) from None
