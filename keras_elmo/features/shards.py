"""Shards: the Parquet files of a run, each of which appears whole or not at all."""

import contextlib
import os

import numpy as np

from keras_elmo.features.arrow import pyarrow
from keras_elmo.files import replacing_file

ROWS_PER_GROUP = 64  # a reader takes a group at a time
_BYTES_PER_GROUP = 32 << 20  # of vectors: a group of long sentences has fewer rows
_FINGERPRINT = b"keras_elmo.fingerprint"  # in a file's metadata: of the run that wrote it
_ZSTD_LEVEL = 1  # vectors hardly get smaller at any level


def shard_names(count):
    """The names of the shards, whose order is that of the rows."""
    return [f"shard-{index:05}-of-{count:05}.parquet" for index in range(count)]


def make_schema(columns, dtype, is_pooled, fingerprint):
    """The schema of the shards.

    Args:
        columns: list of `VectorColumn`s.
        dtype: `"float32"` or `"float16"`.
        is_pooled: bool. One vector for each sentence, instead of one for each token.
        fingerprint: str. It says to which run a shard belongs.
    """
    fields = [
        ("id", pyarrow.int64()),
        ("file", pyarrow.string()),
        ("text", pyarrow.string()),
        ("tokens", pyarrow.list_(pyarrow.string())),
    ]
    for column in columns:
        vector = vector_type(column.size, dtype)
        fields.append((column.name, vector if is_pooled else pyarrow.list_(vector)))
    return pyarrow.schema(fields, {_FINGERPRINT: fingerprint.encode()})


def vector_type(size, dtype="float32"):
    """The Arrow type of one vector."""
    return pyarrow.list_(pyarrow.from_numpy_dtype(dtype), size)


def num_rows(path, fingerprint):
    """The number of rows of a shard.

    Raises:
        ValueError: it is no whole Parquet file, or of another run.
    """
    try:
        metadata = pyarrow.parquet.read_metadata(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        received = f"a file that cannot be read ({error})"
    else:
        if (metadata.metadata or {}).get(_FINGERPRINT) == fingerprint.encode():
            return metadata.num_rows
        received = "a file of another run"
    raise ValueError(
        f"{path} must be a whole shard of this run; remove it, and run the same command again. "
        f"Received: {received}"
    )


class ShardWriter:
    """Writes one shard. All methods may run in another thread, one after the other.

    Args:
        path: the file to write. It appears under this name in `close`.
        schema: what `make_schema` gives.
    """

    def __init__(self, path, schema):
        self.path, self._schema = path, schema
        self._stack = contextlib.ExitStack()
        self._writer = self._temporary = None
        self._num_rows = 0

    def open(self):
        self._temporary = self._stack.enter_context(replacing_file(self.path))
        # Statistics and dictionaries are for columns with values that repeat or are ordered.
        with self._naming_the_file():
            self._writer = pyarrow.parquet.ParquetWriter(
                self._temporary,
                self._schema,
                compression="zstd",
                compression_level=_ZSTD_LEVEL,
                use_dictionary=["file", "tokens.list.element"],
                write_statistics=["id", "file"],
            )

    def write(self, table):
        """Writes a row group, a `pyarrow.Table`."""
        with self._naming_the_file():
            self._writer.write_table(table, row_group_size=len(table))
        self._num_rows += len(table)

    def close(self, num_rows):
        """Ends the file, and gives it its name, if it has as many rows as it must have."""
        if self._num_rows != num_rows:
            raise RuntimeError(
                f"{self.path} must have {num_rows:,} rows. Received: {self._num_rows:,}"
            )
        with self._naming_the_file():
            self._writer.close()
            self._stack.close()

    @contextlib.contextmanager
    def _naming_the_file(self):
        """An error of the disk names the file, as those of Python do and those of Arrow do not."""
        try:
            yield
        except OSError as error:
            if error.errno is None:
                raise
            raise OSError(error.errno, os.strerror(error.errno), str(self.path)) from None

    def abort(self):
        """Removes what was written, unless the file has its name already."""
        error = RuntimeError("The shard is not complete")
        with contextlib.suppress(RuntimeError, OSError, pyarrow.ArrowException):
            # `replacing_file` removes its file where an error leaves its block.
            self._stack.__exit__(type(error), error, None)
        self._writer = None


def row_groups(rows):
    """Rows in lists for one row group each.

    Args:
        rows: iterable of tuples, whose last item is a list of arrays.
    """
    group, size = [], 0
    for row in rows:
        group.append(row)
        size += sum(array.nbytes for array in row[-1])
        if len(group) == ROWS_PER_GROUP or size >= _BYTES_PER_GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def make_table(rows, schema, dtype):
    """Rows as a `pyarrow.Table`.

    Args:
        rows: list of tuples: id, file, text, tokens (a list of bytes), and a list of float32
            arrays, one for each column of vectors: (tokens, D), or (D,) where they are pooled.
        schema: what `make_schema` gives.
        dtype: `"float32"` or `"float16"`.
    """
    ids, files, texts, tokens, arrays = zip(*rows, strict=True)
    tokens = [[token.decode("utf-8", "replace") for token in sentence] for sentence in tokens]
    data = [
        pyarrow.array(values, type=field.type)
        for values, field in zip((ids, files, texts, tokens), schema, strict=False)
    ]
    for column, field in zip(zip(*arrays, strict=True), list(schema)[len(data) :], strict=True):
        data.append(_vectors(column, field, dtype))
    return pyarrow.Table.from_arrays(data, schema=schema)


def _vectors(arrays, field, dtype):
    """One column of vectors."""
    is_pooled = pyarrow.types.is_fixed_size_list(field.type)
    values = np.stack(arrays) if is_pooled else np.concatenate(arrays)
    with np.errstate(over="ignore"):
        stored = values.astype(dtype, copy=False)
    if dtype == "float16" and not np.isfinite(stored).all() and np.isfinite(values).all():
        raise ValueError(
            f"The vectors of {field.name} do not fit into float16, whose largest number is "
            f"65,504; write them as float32. Received: {np.abs(values).max():,.0f}"
        )
    vector = field.type if is_pooled else field.type.value_type
    vectors = pyarrow.FixedSizeListArray.from_arrays(
        pyarrow.array(np.ascontiguousarray(stored).reshape(-1)), type=vector
    )
    if is_pooled:
        return vectors
    offsets = np.cumsum([0, *map(len, arrays)], dtype=np.int32)
    return pyarrow.ListArray.from_arrays(pyarrow.array(offsets), vectors, type=field.type)
