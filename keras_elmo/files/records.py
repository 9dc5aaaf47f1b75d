"""Records: the sentences of text files, each a line, or a field of JSON Lines, CSV or TSV.

A file of JSON Lines holds an object on each line. CSV and TSV hold the names of their columns in
the first line. CSV is what Python's `csv` reads: a field in quotes may hold commas and ends of
lines, which stay as they are. TSV has no quotes. Blank lines, and rows whose fields are all blank,
are not records.
"""

import csv
import dataclasses
import json
import os
from typing import NamedTuple

from keras_elmo.checks import join_names, short_repr
from keras_elmo.files.text_files import decode_lines

FORMATS = ("text", "jsonl", "csv", "tsv")
_SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}
_MAX_FIELD = 2**31 - 1  # characters: the largest limit of `csv` on every system; 131,072 without it


def suffix_of(path):
    """How a path ends, in lower case, such as `".csv"`; `.gz` does not count."""
    return os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]


@dataclasses.dataclass(frozen=True)
class Fields:
    """What is read of each record.

    Args:
        field: str. The name of the field that is the text. `None`: each line is a text.
        keep: sequence of strings. The names of fields whose values are kept beside the text.
        format: one of `FORMATS`. `None`: that of the file's name, `*.jsonl`, `*.ndjson`, `*.csv`,
            `*.tsv` (or with `.gz`); text for all others.

    Raises:
        ValueError: an argument is not as said above, or `keep` is given without `field`.
    """

    field: str | None = None
    keep: tuple = ()
    format: str | None = None

    def __post_init__(self):
        if self.format not in (None, *FORMATS):
            raise ValueError(
                f"`format` must be one of {FORMATS}. Received: format={short_repr(self.format)}"
            )
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
        if format != "text" and self.field is None:
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
    is_csv = format == "csv"
    lines = decode_lines(file, name, encoding, errors, keep_ends=is_csv)
    if format == "text":
        for line_number, line in enumerate(lines, start=1):
            yield Record(line_number, line)
        return
    names = (fields.field, *fields.keep)
    if format == "jsonl":
        records = _json_records(lines, name)
    else:
        rows = _csv_rows(lines, name) if is_csv else _tsv_rows(lines)
        separator = "comma" if is_csv else "tab"
        records = _table_records(rows, name, names, separator)
    for line_number, record in records:
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


def _tsv_rows(lines):
    """Yields pairs for the lines that are not blank: the number of the line, and its fields."""
    for line_number, line in enumerate(lines, start=1):
        if line.strip():
            yield line_number, line.split("\t")


def _csv_rows(lines, name):
    """Yields the same of CSV, whose rows may take several lines: the number of the first."""
    csv.field_size_limit(_MAX_FIELD)
    reader = csv.reader(lines, strict=True)
    while True:
        line_number = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"{name} must be CSV, in which a field with a quote is in quotes, and quotes in "
                f'it are doubled (""). Received: line {line_number:,}, {error}'
            ) from None
        if row is None:
            return
        if any(map(str.strip, row)):
            yield line_number, row


def _table_records(rows, name, names, separator):
    """Yields pairs: the line number of a row, and a dict of its fields by the names above them."""
    _, columns = next(rows, (1, None))
    if columns is None:  # an empty file
        return
    if len(columns) == 1 and ";" in columns[0] and columns[0] not in names:
        raise ValueError(
            f"The columns of {name} must have a {separator} between them. "
            f"Received: semicolons, {short_repr(columns[0])}"
        )
    for field in names:
        if columns.count(field) != 1:
            raise ValueError(
                f"{name} must have a column {field!r} in its first line, once. "
                f"Received: {short_repr(columns)}"
            )
    for line_number, row in rows:
        if len(row) != len(columns):
            raise ValueError(
                f"Each row of {name} must have the {len(columns)} fields that its first line "
                f"names. Received: line {line_number:,}, with {len(row)}: {short_repr(row)}"
            )
        yield line_number, dict(zip(columns, row, strict=True))
