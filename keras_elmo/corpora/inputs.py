"""The text files of a run: their properties when it began, and their records in order."""

import json
import math
from typing import NamedTuple

from keras_elmo.files.records import PLAIN, decode_records
from keras_elmo.files.text_files import open_hashed
from keras_elmo.process.signals import check_signals

# The types of columns of fields that are kept. JSON is text: the values of a field are of several
# types, or lists, or objects, or larger than an int64.
TYPES = ("string", "int64", "float64", "bool", "json")
_TYPE_OF = {str: "string", bool: "bool", float: "float64"}  # of a value, by its class
_SMALL_INT = "small int"  # an int64 that a float64 can hold, too, with all of its digits


class InputFile(NamedTuple):
    """A text file as it was when a run began.

    Attributes:
        file: str. The path as the user gave it.
        bytes: int. The size of the file.
        sha256: str. The hash of the file, as it is on the disk.
        rows: int. The number of its records: its lines, or those of JSON Lines, CSV or TSV.
    """

    file: str
    bytes: int
    sha256: str
    rows: int


def scan_files(paths, encoding, errors, fields=PLAIN):
    """Reads the files once: their hashes, and their records, which are checked and counted.

    Args:
        paths: list of strings.
        encoding: str.
        errors: `"strict"` or `"replace"`; see `decode_lines`.
        fields: `Fields`.

    Returns:
        A list of `InputFile`s, and a dict: for each field that is kept, its type, one of `TYPES`.

    Raises:
        ValueError: a file cannot be decoded, is not a whole gzip file, or has a name that is not
            UTF-8; or see `decode_records`.
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
    files, types = [], {field: set() for field in fields.keep}
    for path in paths:
        rows = 0
        with open_hashed(path) as (file, hashed):
            for record in decode_records(file, path, encoding, errors, fields):
                check_signals()
                rows += 1
                for found, value in zip(types.values(), record.kept, strict=True):
                    found.add(_type_of(value))
            files.append(InputFile(path, *hashed.finish(), rows))
    return files, {field: _common_type(found) for field, found in types.items()}


def _type_of(value):
    """The type of a value of JSON or CSV: one of `TYPES`, `_SMALL_INT`, or `None` for null."""
    if value is None:
        return None
    if type(value) is int:
        if abs(value) <= 2**53:
            return _SMALL_INT
        return "int64" if -(2**63) <= value < 2**63 else "json"
    return _TYPE_OF.get(type(value), "json")


def _common_type(types):
    """The type of a column whose values have these types, a set."""
    types = types - {None} or {"string"}
    if types == {_SMALL_INT, "float64"}:
        return "float64"
    types = {"int64" if type == _SMALL_INT else type for type in types}
    return types.pop() if len(types) == 1 else "json"


def _as_type(value, type):
    """A value as it stands in a column of a type."""
    if value is None or (type == "float64" and math.isnan(value)):
        return None
    if type == "json":
        return json.dumps(value, ensure_ascii=False)
    return float(value) if type == "float64" else value


def read_files(files, encoding, errors, fields=PLAIN, types=()):
    """The records of all files, in their order.

    Args:
        files, types: what `scan_files` gave.
        encoding: str.
        errors: see `decode_lines`.
        fields: `Fields`.

    Yields:
        Pairs: the record, and a tuple of what its row holds: the path of the file, the text, a
        string, and the value of each field that is kept.

    Raises:
        ValueError: a file has other bytes than when it was scanned. More records are found
            before they are given, other bytes at the end of the file.
    """
    types = list(dict(types).values())
    for file in files:
        count = 0
        with open_hashed(file.file) as (stream, hashed):
            for record in decode_records(stream, file.file, encoding, errors, fields):
                check_signals()
                count += 1
                if count > file.rows:
                    break
                yield record, (file.file, record.line, *map(_as_type, record.kept, types))
            size, sha256 = hashed.finish()
        if (count, size, sha256) != (file.rows, file.bytes, file.sha256):
            raise ValueError(
                f"{file.file} must not change while it is read. Received: {file.rows:,} records "
                f"and {file.bytes:,} bytes when the run began, and other ones now. Name another "
                "folder, or begin anew with `overwrite`"
            )
