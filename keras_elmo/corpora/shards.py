"""Shards: the Parquet files of a run, each of which appears whole or not at all.

Parquet files are read and written by pyarrow, which is optional.
"""

import contextlib
import hashlib
import io
import os
import re
from typing import NamedTuple

import numpy as np

from keras_elmo.checks import short_repr
from keras_elmo.files.atomic import replacing_file, sha256_of
from keras_elmo.models.embed_stream import parse_layers

try:
    import pyarrow
    import pyarrow.parquet

    _import_error = None
except ImportError as error:
    pyarrow, _import_error = None, error

DTYPES = ("float32", "float16")
KEPT_PREFIX = "kept_"  # of the columns of fields that are kept: "id" is a column already
ROWS_PER_GROUP = 64  # A reader takes a group at a time, so it bounds the reader's memory.
BYTES_PER_GROUP = 32 << 20  # of vectors: a group of long sentences has fewer rows
SHARD_NAME = r"shard-([0-9]{5,19})-of-([0-9]{5,19})\.parquet"  # as a regular expression
_FINGERPRINT = b"keras_elmo.fingerprint"  # in a file's metadata: of the run that wrote it
_ZSTD_LEVEL = 1  # Higher levels hardly make vectors smaller.
_BUFFER_SIZE = 1 << 20  # bytes that are hashed or written at once: few calls, and little memory


def check_pyarrow():
    """Raises an `ImportError` that says what to do if pyarrow is missing or broken."""
    if pyarrow is not None:
        return
    if _import_error is not None and _import_error.name != "pyarrow":
        raise ImportError(
            "Parquet files are read and written by pyarrow, which is installed and cannot be "
            f"imported; install it again. Received: {_import_error}"
        ) from _import_error
    raise ImportError(
        "Parquet files are read and written by pyarrow, which is not installed: "
        'pip install "keras-elmo[corpora]"'
    )


class VectorColumn(NamedTuple):
    """A column of vectors, for one layer.

    Attributes:
        name: str. `"layer_0"`, `"layer_1"`, ... for the number of a layer, else the choice itself.
        choice: what `Elmo.embed` takes as `layers`.
        size: int. The length of a vector.
    """

    name: str
    choice: object
    size: int


def vector_columns(config, layers, num_mixes=1):
    """The columns of vectors that a run writes.

    Args:
        config: the `ElmoConfig` of the model.
        layers: what `Elmo.embed` takes, or a list of that, without `"default"`. `"all"` is a
            column for each layer.
        num_mixes: int. The number of learned mixes of the model.

    Returns:
        list of `VectorColumn`s.

    Raises:
        ValueError: `layers` is not as said above, or names a column twice.
    """
    columns = []
    for choice in parse_layers(config, layers, num_mixes):
        if choice == "default":
            raise ValueError(
                '`layers` must not be "default" here: choose `pooled` and the layer "elmo", which '
                'give the same vectors. Received: layers="default"'
            )
        count = config.num_layers + 1
        for each in range(count) if choice == "all" else [choice]:
            name = each if isinstance(each, str) else f"layer_{each % count}"
            size = config.projection_dim if each == "word_emb" else config.output_dim
            columns.append(VectorColumn(name, each, size))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise ValueError(
            f"`layers` must name each layer once. Received: layers={short_repr(layers)}, which "
            f"means the columns {', '.join(names)}"
        )
    return columns


def check_dtype(dtype):
    """Raises a `ValueError` for what is not the dtype of a column of vectors."""
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be one of {DTYPES}. Received: dtype={short_repr(dtype)}")


def as_dtype(vectors, dtype, name):
    """Vectors in the dtype of a column.

    Args:
        vectors: float32 array.
        dtype: `"float32"` or `"float16"`.
        name: str. The column, which the error names.

    Raises:
        ValueError: a number does not fit into float16.
    """
    with np.errstate(over="ignore"):
        converted = vectors.astype(dtype, copy=False)
    if dtype == "float16" and (np.isinf(converted) & np.isfinite(vectors)).any():
        largest = np.abs(vectors[np.isfinite(vectors)]).max()
        raise ValueError(
            f"The vectors of {name} must fit into float16, whose largest number is 65,504. "
            f"Received: {largest:,.0f}; write them as float32"
        )
    return converted


def shard_names(count):
    """The names of the shards, in the order of the rows."""
    return [shard_name(index, count) for index in range(count)]


def shard_name(index, count):
    return f"shard-{index:05}-of-{count:05}.parquet"


def is_shard_name(name, count):
    """Whether a name is one of `shard_names(count)`, without making the list."""
    match = re.fullmatch(SHARD_NAME, name)
    index = int(match[1]) if match else count
    return index < count and name == shard_name(index, count)


def make_schema(columns, dtype, is_pooled, fingerprint, kept=None):
    """The schema of the shards.

    Args:
        columns: list of `VectorColumn`s.
        dtype: `"float32"` or `"float16"`.
        is_pooled: bool. One vector for each sentence, instead of one for each token.
        fingerprint: str. The run that a shard belongs to.
        kept: dict. For each field that is kept, the type of its column, one of `inputs.TYPES`.
    """
    kept = {name: "string" if kind == "json" else kind for name, kind in (kept or {}).items()}
    fields = [
        ("id", pyarrow.int64()),
        ("file", pyarrow.string()),
        ("text", pyarrow.string()),
        *((KEPT_PREFIX + name, pyarrow.type_for_alias(kind)) for name, kind in kept.items()),
        *vector_fields(columns, dtype, is_pooled),
    ]
    return pyarrow.schema(fields, {_FINGERPRINT: fingerprint.encode()})


def vector_fields(columns, dtype, is_pooled):
    """The fields of the tokens and of their vectors: a list of pairs, a name and an Arrow type."""
    fields = [("tokens", pyarrow.list_(pyarrow.string()))]
    for column in columns:
        vector = pyarrow.list_(pyarrow.from_numpy_dtype(dtype), column.size)
        fields.append((column.name, vector if is_pooled else pyarrow.list_(vector)))
    return fields


def check_size(path, size):
    """Raises a `ValueError` if a shard has another number of bytes."""
    with _checking(path):
        if os.path.getsize(path) != size:
            raise _Fault(f"{os.path.getsize(path):,} bytes in the place of {size:,}")


def check_shard(path, fingerprint, entry):
    """Checks the bytes of a shard, as far as they are known, its run, and the ids of its rows.

    Args:
        path: the shard.
        fingerprint: str. See `make_schema`.
        entry: dict with `"first_id"` and `"rows"`. An entry of a manifest also has `"bytes"` and
            `"sha256"`. Without these only a part of the file is read.

    Raises:
        ValueError: it is not a whole Parquet file, or not the shard of these rows.
    """
    if "bytes" in entry:
        check_size(path, entry["bytes"])
    first_id, num_rows = entry["first_id"], entry["rows"]
    with _checking(path):
        if "sha256" in entry and sha256_of(path) != entry["sha256"]:
            raise _Fault("other bytes than were written")
        with open_shard(path) as file:
            if (file.metadata.metadata or {}).get(_FINGERPRINT) != fingerprint.encode():
                raise _Fault("a file of another run")
            if file.metadata.num_rows != num_rows:
                raise _Fault(f"{file.metadata.num_rows:,} rows in the place of {num_rows:,}")
            # Not by the statistics: if they are damaged, asking for them ends the process.
            ids = file.read(columns=["id"])["id"].to_pylist()
        if ids != list(range(first_id, first_id + num_rows)):
            raise _Fault(f"other rows than those from {first_id:,} on")


def check_content(path, schema, first_id, lines):
    """Checks a shard without its digest: every page, and that its rows are these lines.

    Args:
        path: the shard.
        schema: see `make_schema`.
        first_id: int. The id of its first row.
        lines: list of tuples: the path of the text file, the line, and the fields that are kept.

    Raises:
        ValueError: a page is damaged, or the rows are not those of the lines.
    """
    start = 0
    with _checking(path), open_shard(path) as file:
        if not file.schema_arrow.equals(schema):
            raise _Fault("a file with other columns")
        if file.metadata.num_rows != len(lines):
            raise _Fault(f"{file.metadata.num_rows:,} rows in the place of {len(lines):,}")
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)  # checks the checksum of every page
            table.validate(full=True)
            ids = range(first_id + start, first_id + start + len(table))
            expected = [ids, *zip(*lines[start : start + len(table)], strict=True)]
            for name, values in zip(schema.names, expected, strict=False):
                if table[name].to_pylist() != list(values):
                    raise _Fault(f"other values of {name} than those of the input")
            start += len(table)


def read_group(path, group, columns):
    """The columns of a row group: a `pyarrow.Table`, whose pages have the right checksums."""
    with _checking(path), open_shard(path) as file:
        table = file.read_row_group(group, columns=columns)
        table.validate(full=True)
    return table


def open_shard(path):
    """A `pyarrow.parquet.ParquetFile` that checks the checksum of each page that it reads."""
    return pyarrow.parquet.ParquetFile(path, page_checksum_verification=True)


class _Fault(Exception):
    """What is wrong with a shard, after "Received: "."""


@contextlib.contextmanager
def _checking(path):
    """Turns a fault of a shard into an error that says what to do."""
    unreadable = ValueError, TypeError, IndexError, KeyError, OSError, pyarrow.ArrowException
    try:
        yield
        return
    except _Fault as error:
        received = error
    except unreadable as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # such as a missing file
        received = f"a file that cannot be read ({error})"
    raise ValueError(
        f"{path} must be a whole shard of this run; remove it, and run the same command again. "
        f"Received: {received}"
    )


class ShardWriter:
    """Writes one shard. All methods run in one thread, one after the other.

    Args:
        path: the file to write. It appears under this name in `close`.
        schema: see `make_schema`.
    """

    def __init__(self, path, schema):
        self.path, self._schema = path, schema
        self._stack = contextlib.ExitStack()
        self._writer = self._file = None
        self._num_rows = 0

    def open(self):
        temporary = self._stack.enter_context(replacing_file(self.path))
        # Statistics and dictionaries are for columns with values that repeat or are ordered.
        with self._naming_the_file():
            self._file = _DigestedFile(io.FileIO(temporary, "wb"), _BUFFER_SIZE)
            self._writer = pyarrow.parquet.ParquetWriter(
                self._file,
                self._schema,
                compression="zstd",
                compression_level=_ZSTD_LEVEL,
                use_dictionary=["file", "tokens.list.element"],
                write_statistics=["id", "file"],
                write_page_checksum=True,
            )

    def write(self, table):
        """Writes a row group, a `pyarrow.Table`."""
        with self._naming_the_file():
            self._writer.write_table(table, row_group_size=len(table))
        self._num_rows += len(table)

    def close(self, num_rows):
        """Finishes the file and renames it, after a check of its row count.

        Returns:
            A dict with the file's `"bytes"` and its `"sha256"`, for the manifest.
        """
        if self._num_rows != num_rows:
            raise RuntimeError(
                f"{self.path} must have {num_rows:,} rows. Received: {self._num_rows:,}"
            )
        with self._naming_the_file():
            self._writer.close()
            written = {"bytes": self._file.tell(), "sha256": self._file.sha256.hexdigest()}
            self._file.close()
            self._stack.close()
        return written

    @contextlib.contextmanager
    def _naming_the_file(self):
        """Adds the file's name to Arrow's errors of the disk."""
        try:
            yield
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, os.strerror(error.errno), str(self.path)) from None

    def abort(self):
        """Removes what was written, unless the file has its name already."""
        self._writer = None  # Arrow may write once more.
        if self._file is not None:
            with contextlib.suppress(OSError):  # such as a full disk
                self._file.close()
        error = RuntimeError("The shard is not complete")
        with contextlib.suppress(RuntimeError, OSError):
            # `replacing_file` removes its file if an error leaves its block.
            self._stack.__exit__(type(error), error, None)


class _DigestedFile(io.BufferedWriter):
    """A file that is written from its beginning to its end, and the SHA-256 of its bytes."""

    def __init__(self, *args):
        super().__init__(*args)
        self.sha256 = hashlib.sha256()

    def write(self, data):
        self.sha256.update(data)
        return super().write(data)


def row_groups(rows):
    """Yields the rows in lists, one for each row group.

    Args:
        rows: iterable of tuples, whose last item is a list of arrays.
    """
    group, size = [], 0
    for row in rows:
        group.append(row)
        size += sum(array.nbytes for array in row[-1])
        if len(group) == ROWS_PER_GROUP or size >= BYTES_PER_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def make_table(rows, schema, dtype):
    """Rows as a `pyarrow.Table`.

    Args:
        rows: list of tuples: id, file, text, the fields that are kept, tokens (a list of bytes),
            and a list of float32 arrays, one for each column of vectors: (tokens, D), or (D,) if
            they are pooled.
        schema: see `make_schema`.
        dtype: `"float32"` or `"float16"`.
    """
    *plain, tokens, arrays = zip(*rows, strict=True)
    tokens = [[token.decode("utf-8", "replace") for token in sentence] for sentence in tokens]
    data = [
        pyarrow.array(values, type=field.type)
        for values, field in zip((*plain, tokens), schema, strict=False)
    ]
    for column, field in zip(zip(*arrays, strict=True), list(schema)[len(data) :], strict=True):
        data.append(_vectors(column, field, dtype))
    return pyarrow.Table.from_arrays(data, schema=schema)


def _vectors(arrays, field, dtype):
    """One column of vectors."""
    is_pooled = pyarrow.types.is_fixed_size_list(field.type)
    values = np.stack(arrays) if is_pooled else np.concatenate(arrays)
    stored = as_dtype(values, dtype, field.name)
    vector = field.type if is_pooled else field.type.value_type
    vectors = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(np.ascontiguousarray(stored).reshape(-1)), type=vector
    )
    if is_pooled:
        return vectors
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int32)
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), vectors, type=field.type)
