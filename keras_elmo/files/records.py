"""Records: the sentences of text files, each a line, or a field of JSON Lines, CSV, TSV or FASTA.

JSON Lines hold an object on each line. A JSON array of objects is read, too, and spaCy's pairs of a
text, which becomes the field `text`, and an object. CSV is what Python's `csv` reads; semicolons or
tabs separate its fields if the first line then has the columns. TSV has no quotes. The first line
of both names the columns; without names, fields are the numbers of columns, from 0. Blank lines,
and rows whose fields are all blank, are not records. A text may be a list of tokens, also in a
cell.

A record of FASTA is a line `>id description` and the lines of a sequence, which are joined; its
fields are `id`, `description` and `sequence`. A line that begins with `;` is a comment. Blanks and
digits within a sequence are left out.
"""

import ast
import contextlib
import csv
import dataclasses
import itertools
import json
import os
import re
from typing import NamedTuple

from keras_elmo.checks import check_choice, join_names, short_repr, warn
from keras_elmo.files.text_files import HashedFile, decode_lines, input_name, is_pipe, open_text
from keras_elmo.process.signals import check_signals

FORMATS = ("text", "jsonl", "csv", "tsv", "fasta")
_SUFFIXES = {".csv": "csv", ".tsv": "tsv"} | dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl")
_SUFFIXES |= dict.fromkeys((".fasta", ".fa", ".fas", ".fna", ".faa", ".a3m"), "fasta")
_OTHER_SUFFIXES = (".fastq", ".fq", ".parquet", ".arrow", ".xlsx", ".xls", ".spacy")
_DELIMITERS = ",;\t"  # of CSV
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_NO_LETTER, _LETTERS = re.compile(r"[\d\s]+"), re.compile("[A-Z*]*")  # of a line of FASTA
_MAX_FIELD = 2**31 - 1  # characters: the largest limit of `csv` on every system; 131,072 without it


def suffix_of(path):
    """How a path ends, in lower case, such as `".csv"`; `.gz` does not count."""
    return os.path.splitext(os.fspath(path).lower().removesuffix(".gz"))[1]


def format_by_name(path):
    """The format that the name of a file says."""
    return _SUFFIXES.get(suffix_of(path), "text")


@dataclasses.dataclass(frozen=True)
class Fields:
    """What is read of each record."""

    field: str | None = None  # which is the text; `None`: each line, or of FASTA each sequence
    keep: tuple = ()  # the fields whose values are kept beside the text
    format: str | None = None  # one of `FORMATS`; `None`: that of the file's name, or text

    def __post_init__(self):
        check_choice((None, *FORMATS), format=self.format)
        is_list = isinstance(self.keep, list | tuple) and len(set(self.keep)) == len(self.keep)
        if not is_list or (self.keep and self.field is None):
            raise ValueError(
                "`keep` must name fields, each once, and be given with `field`. "
                f"Received: keep={short_repr(self.keep)}"
            )

    def format_of(self, path):
        """The format of a file: an error if it has fields without `field`, or the reverse."""
        format = self.format or format_by_name(path)
        if self.format is None and suffix_of(path) in _OTHER_SUFFIXES:
            raise ValueError(
                f"`format` must be one of {', '.join(FORMATS)}. Convert {path} to one of them, as "
                f"the page on files of labels shows. Received: {suffix_of(path)}"
            )
        if format != "fasta" and (format == "text") != (self.field is None):
            raise ValueError(
                f"`field` must name the field of {path} that is the text, if its name (as *.jsonl, "
                "*.csv, *.tsv) or `format` says that it has fields; with `format=text` each line "
                f"is a text. Received: {self.field or 'no name'}, with the format {format}"
            )
        return format


PLAIN = Fields(format="text")  # Each line is a text, whatever the name of the file.


class Record(NamedTuple):
    """A sentence of a file."""

    line_number: int  # from 1: where it begins
    text: object  # a string, or a list of strings, which are tokens
    kept: list = []  # the values of the fields that are kept

    @property
    def line(self):
        """The text as a string: of tokens, with spaces between them."""
        return self.text if isinstance(self.text, str) else " ".join(self.text)


class Words(list):
    """The tokens of a file. They are not checked again as if a person had typed them."""


class InputChanged(ValueError):
    """A file has other bytes than when it was read for the first time."""


class Records:
    """The records of text files. An iteration gives their texts: strings, or lists of tokens.

    Args:
        paths: list of strings: files, `*.gz` too, or `-` for standard input.
        lines: list to which an iteration appends the text of each record as a string, or `None`.

    Attributes:
        files: once all files were read to their end, a list of dicts: `"file"`, the path; the
            `"bytes"` on the disk and their `"sha256"`, `None` for a pipe; `"rows"`, the records.
        kept: dict of lists: the values of each field that is kept, as far as an iteration came.
    """

    def __init__(self, paths, encoding="utf-8", errors="strict", fields=PLAIN, lines=None):
        formats = {fields.format_of(input_name(path)) for path in paths}
        if "fasta" in formats and fields.field is None:
            if len(formats) > 1:
                raise ValueError(
                    "The files must all be FASTA, whose ids are kept, or none; `format` says what "
                    f"they are. Received: {join_names(list(map(input_name, paths)))}"
                )
            fields = Fields("sequence", ["id"], fields.format)
        for path in paths:
            if path != "-" and not is_pipe(path):
                open(path, "rb").close()  # raises Python's own error early
        self.paths, self.fields, self.lines = paths, fields, lines
        self.encoding, self.errors = encoding, errors
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
        return sum(file["rows"] for file in self.files)

    def __iter__(self):
        for _, record in self.read():
            if self.lines is not None:
                self.lines.append(record.line)
            for values, value in zip(self.kept.values(), record.kept, strict=True):
                values.append(value)
            yield record.text

    def read(self):
        """Yields pairs: the path of a file, and a `Record`. `lines` and `kept` do not grow.

        Raises `InputChanged` after a file with other bytes than in the first reading.
        """
        files = []
        for path in self.paths:
            name, rows = input_name(path), 0
            hashed = HashedFile(path) if os.path.isfile(path) else None  # a pipe
            with open_text(path, hashed) as file:
                for record in decode_records(file, name, self.encoding, self.errors, self.fields):
                    check_signals()
                    rows += 1
                    yield path, record
            size, digest = hashed and os.path.getsize(path), hashed and hashed.sha256.hexdigest()
            files.append({"file": path, "bytes": size, "sha256": digest, "rows": rows})
            if self.files is not None and files[-1] != self.files[len(files) - 1]:
                raise InputChanged(
                    f"{path} must not change while it is read. Received: other bytes than in the "
                    "first reading"
                )
        self.files = files


def decode_records(file, name, encoding=None, errors="strict", fields=PLAIN):
    """Yields the `Record`s of a binary file; see `decode_lines`. Errors name the line."""
    format = fields.format_of(name)
    lines = decode_lines(file, name, encoding, errors, keep_ends=format == "csv")
    if format == "text":
        yield from itertools.starmap(Record, enumerate(lines, start=1))
        return
    names = (fields.field or "sequence", *fields.keep)
    if format in ("jsonl", "fasta"):
        found = (_json_records if format == "jsonl" else _fasta_records)(lines, name)
    else:
        rows = enumerate((line.split("\t") for line in lines), start=1)
        rows = csv_rows(lines, name, names) if format == "csv" else rows
        found = _table_records(rows, name, names)
    for line_number, record in found:
        text, *kept = map(record.get, names)
        items = as_list(text)
        is_tokens = isinstance(items, list) and all(isinstance(item, str) for item in items)
        if not record.keys() >= set(names) or not (is_tokens or isinstance(text, str)):
            raise ValueError(
                f"Each record of {name} must have the fields {', '.join(names)}. The first must be "
                "a string, or a list of strings, which are tokens. Received: line "
                f"{line_number:,}, with {join_names(record) or 'no field'}: {short_repr(text)}"
            )
        yield Record(line_number, Words(items) if is_tokens else text, kept)


def as_tokens(texts):
    """Texts as one token each: a space within a text becomes a no-break space."""
    return Words("\u00a0".join(text.split()) or text and "\u00a0" for text in texts)


def as_list(cell):
    """The items of a list that a cell holds as JSON, Python or NumPy write it; or else the cell."""
    text = cell.strip() if isinstance(cell, str) else ""
    if text[:1] + text[-1:] != "[]":
        return cell
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    if not _QUOTED.sub("", text[1:-1]).strip(", \r\n\t"):
        with contextlib.suppress(ValueError, SyntaxError):
            return list(map(ast.literal_eval, _QUOTED.findall(text)))
    return cell


def column_of(field, columns):
    """The index of the column that a field names, or is the number of (-1: the last); or `None`."""
    if field in columns:
        return columns.index(field) if columns.count(field) == 1 else None
    with contextlib.suppress(ValueError, IndexError):
        return range(len(columns))[int(field)]


def columns_of(fields, columns, name):
    """The indices of the columns that fields name, or are the numbers of, or an error."""
    indices = [column_of(field, columns) for field in fields]
    if None in indices:
        raise ValueError(
            f"{name} must have a column {fields[indices.index(None)]!r} in its first line, once. "
            f"Received: {short_repr(columns)}. (`format` says what separates them. Columns without "
            "names have numbers, from 0.)"
        )
    return indices


# Each of these yields pairs: the number of a record's first line, and its fields.


def _json_records(lines, name):
    lines = enumerate(lines, start=1)
    for line_number, line in lines:
        if not line.strip():
            continue
        if line.lstrip().startswith("[") and not line.rstrip().endswith("]"):
            line = "\n".join([line, *(line for _, line in lines)])
        try:
            found = _as_object(json.loads(line))
            if "\\ud" in line.lower():  # Half of a surrogate pair is not text.
                json.dumps(found, ensure_ascii=False).encode()
            found = list(map(_as_object, found)) if isinstance(found, list) else [found]
            if not all(isinstance(record, dict) for record in found):
                raise ValueError("it is not an object")
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{name} must hold JSON objects, one on each line, or in an array. Received: line "
                f"{line_number:,}, {short_repr(line)}, which cannot be read "
                f"({getattr(error, 'msg', error)})"
            ) from None
        yield from ((line_number, record) for record in found)


def _as_object(value):
    """A record of JSON; of spaCy's `[text, {"entities": ...}]` the text is a field like others."""
    is_pair = isinstance(value, list) and list(map(type, value)) == [str, dict]
    return {"text": value[0], **value[1]} if is_pair else value


def _fasta_records(lines, name):
    index, ids, doubts = 0, set(), {}

    def index_of(numbered_line):
        """The number of the record of a line, from 1."""
        nonlocal index
        index += numbered_line[1].startswith(">")
        return index

    lines = (x for x in enumerate(lines, start=1) if x[1].strip() and not x[1].startswith(";"))
    for _, ((first, header), *rows) in itertools.groupby(lines, index_of):
        if not header.startswith(">"):
            raise ValueError(
                f"{name} must be FASTA, which begins with a line >id; with the format `text` each "
                f"line is a text. Received: line {first:,}, {short_repr(header)}"
            )
        key, description, *_ = [*header[1:].strip().split(None, 1), "", ""]
        parts = [_NO_LETTER.sub("", line) for _, line in rows]
        if not any(parts) or key in ids:
            rule = "Each record of FASTA should have letters, and an id of its own"
            doubts.setdefault(rule, (first, header[1:].strip()))
        for row, part in zip(rows, parts, strict=True):
            if not _LETTERS.fullmatch(part):
                rule = "Sequences should be capitals A-Z, as models of proteins have seen"
                doubts.setdefault(rule, row)
        ids.add(key)
        yield first, {"id": key, "description": description, "sequence": "".join(parts)}
    for rule, (line_number, line) in doubts.items():
        received = f"{name}, line {line_number:,}, {short_repr(line)}"
        warn(f"{rule}. Received: {received}, which is taken as it is")


def _table_records(rows, name, names):
    columns = None
    for line_number, row in rows:
        if not any(map(str.strip, row)):
            continue
        if columns is None:
            columns, indices = row, columns_of(names, row, name)
            if set(names) & set(columns):
                continue  # Otherwise numbers name the columns.
        if len(row) != len(columns):
            raise ValueError(
                f"Each row of {name} must have the {len(columns)} fields that its first line "
                f"names. Received: line {line_number:,}, with {len(row)}: {short_repr(row)}"
            )
        yield line_number, {field: row[k] for field, k in zip(names, indices, strict=True)}


def csv_rows(lines, name, names=()):
    """Yields the rows of CSV, whose first row has the columns `names`: first lines, and fields."""
    csv.field_size_limit(_MAX_FIELD)
    lines = iter(lines)
    first = next(filter(str.strip, lines), "")
    heads = ((mark, next(csv.reader([first], delimiter=mark), [])) for mark in _DELIMITERS)
    fitting = (mark for mark, head in heads if None not in [column_of(x, head) for x in names])
    lines = itertools.chain([first], lines)
    reader, line_number = csv.reader(lines, delimiter=next(fitting, ","), strict=True), 1
    try:
        for row in reader:
            yield line_number, row
            line_number = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"{name} must be CSV, in which a field with a quote is in quotes, and quotes in it are "
            f'doubled (""). Received: line {line_number:,}, {error}'
        ) from None
