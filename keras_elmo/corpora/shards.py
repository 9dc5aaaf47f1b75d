"""Shards: the Parquet files of a run, each of which appears whole or not at all.

Parquet files are read and written by pyarrow, which is optional.
"""

import contextlib
import json
import os
from typing import NamedTuple

import numpy as np

from keras_elmo.checks import short_repr
from keras_elmo.files.atomic import replacing_file, sha256_of
from keras_elmo.models.embed_stream import parse_layers
from keras_elmo.models.outputs import vector_size

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None

DTYPES = ("float32", "float16")
ROWS_PER_GROUP = 64  # A reader takes a group at a time, so it bounds the reader's memory.
BYTES_PER_GROUP = 32 << 20  # of vectors: a group of long sentences has fewer rows
SHARD_NAME = r"shard-[0-9]{5,}-of-[0-9]{5,}\.parquet"  # as a regular expression
# The types of columns of fields that are kept, by the class of a value. A column of other values,
# or of several types, is text that holds JSON.
_TYPES = {str: "string", int: "int64", float: "float64", bool: "bool"}
_JSON = "json"
_LARGE = "large int64"
_ZSTD_LEVEL = 1  # Higher levels hardly make vectors smaller.


class VectorColumn(NamedTuple):
    """A column of vectors, for one layer."""

    name: str  # "layer_0", "layer_1", ... for the number of a layer, else the choice itself
    choice: object  # what `Elmo.embed` takes as `layers`
    size: int  # the length of a vector


def vector_columns(config, layers, num_mixes=1):
    """The list of the `VectorColumn`s that a run writes, for the `layers` of `embed_files`."""
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
            columns.append(VectorColumn(name, each, vector_size(config, [each])))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise ValueError(
            f"`layers` must name each layer once. Received: layers={short_repr(layers)}, which "
            f"means the columns {', '.join(names)}"
        )
    return columns


def column_types(records):
    """Reads all `Records`: a dict of the types of the columns of the fields that are kept."""
    found = {field: set() for field in records.fields.keep}
    for _, record in records.read():
        for types, value in zip(found.values(), record.kept, strict=True):
            kind = _TYPES.get(type(value), _JSON)
            if kind == "int64" and abs(value) > 2**53:  # no float64 has all of its digits
                kind = _LARGE if -(2**63) <= value < 2**63 else _JSON
            if value is not None:
                types.add(kind)
    return {field: _common_type(types or {"string"}) for field, types in found.items()}


def _common_type(types):
    if types == {"int64", "float64"}:
        return "float64"
    if types <= {"int64", _LARGE}:
        return "int64"
    return types.pop() if len(types) == 1 else _JSON


def as_type(value, type):
    """A value of a field as its column has it."""
    if type == _JSON and value is not None:
        return json.dumps(value, ensure_ascii=False)
    return value


def make_schema(columns, dtype, is_pooled, kept):
    """The schema of the shards. `kept` is what `column_types` returns."""
    kept = {name: "string" if type == _JSON else type for name, type in kept.items()}
    fields = [
        ("id", pyarrow.int64()),
        ("file", pyarrow.string()),
        ("text", pyarrow.string()),
        *((f"kept_{name}", pyarrow.type_for_alias(type)) for name, type in kept.items()),
        ("tokens", pyarrow.list_(pyarrow.string())),
    ]
    for column in columns:
        vector = pyarrow.list_(pyarrow.from_numpy_dtype(dtype), column.size)
        fields.append((column.name, vector if is_pooled else pyarrow.list_(vector)))
    return pyarrow.schema(fields)


@contextlib.contextmanager
def _reading(folder, shard):
    """The path of a shard of the manifest. A fault becomes an error that says what to do."""
    path = os.path.join(folder, shard["file"])
    try:
        yield path
    except (ValueError, TypeError, LookupError, OSError, pyarrow.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # such as a missing file
        raise ValueError(
            f"{path} must be a whole shard of this run; remove it, and run the same command "
            f"again. Received: {error}"
        ) from None


def check_shard(folder, shard, with_digest=False):
    """Refuses a shard of another size, or of other bytes, than its entry in the manifest says."""
    with _reading(folder, shard) as path:
        if os.path.getsize(path) != shard["bytes"]:
            raise ValueError(f"{os.path.getsize(path):,} bytes instead of {shard['bytes']:,}")
        if with_digest and sha256_of(path) != shard["sha256"]:
            raise ValueError("other bytes than were written")


def group_lengths(folder, shard, is_pooled):
    """The tokens of each sentence of a shard, or 1 if they are pooled: an array a row group."""
    with _reading(folder, shard) as path, pyarrow.parquet.ParquetFile(path) as file:
        metadata, lengths = file.metadata, []
        for group in range(metadata.num_row_groups):
            if is_pooled:
                lengths.append(np.ones(metadata.row_group(group).num_rows, np.int64))
            else:
                tokens = file.read_row_group(group, ["tokens"])["tokens"].combine_chunks()
                lengths.append(np.diff(tokens.offsets.to_numpy()))
        return lengths


def read_group(folder, shard, group, columns):
    """The columns of a row group: a `pyarrow.Table`."""
    with _reading(folder, shard) as path, pyarrow.parquet.ParquetFile(path) as file:
        return file.read_row_group(group, columns)


def write_shard(path, schema, tables):
    """Writes a shard with a row group for each `pyarrow.Table`. Returns its bytes and its hash."""
    with replacing_file(path) as temporary:
        # Statistics and dictionaries are for columns with values that repeat or are ordered.
        with pyarrow.parquet.ParquetWriter(
            temporary,
            schema,
            compression="zstd",
            compression_level=_ZSTD_LEVEL,
            use_dictionary=["file", "tokens.list.element"],
            write_statistics=["id", "file"],
        ) as writer:
            for table in tables:
                writer.write_table(table, row_group_size=len(table))
        return {"bytes": os.path.getsize(temporary), "sha256": sha256_of(temporary)}


def as_dtype(vectors, dtype, name):
    """Vectors, a float32 array, in the dtype of the column `name`."""
    with np.errstate(over="ignore"):
        converted = vectors.astype(dtype, copy=False)
    if dtype == "float16" and (np.isinf(converted) & np.isfinite(vectors)).any():
        largest = np.abs(vectors[np.isfinite(vectors)]).max()
        raise ValueError(
            f"The vectors of {name} must fit into float16, whose largest number is 65,504. "
            f"Received: {largest:,.0f}; write them as float32"
        )
    return converted


def row_groups(rows):
    """Yields the rows, tuples whose last item is a list of arrays, in a list for each group."""
    sized = ((row, 1, sum(array.nbytes for array in row[-1])) for row in rows)
    return grouped(sized, ROWS_PER_GROUP, BYTES_PER_GROUP)


def grouped(items, max_rows, max_bytes):
    """Yields lists of items, which end at the first of two limits.

    `items` are triples: the item, its rows, and the bytes of its vectors.
    """
    group, rows, size = [], 0, 0
    for item, item_rows, item_bytes in items:
        group.append(item)
        rows, size = rows + item_rows, size + item_bytes
        if rows >= max_rows or size >= max_bytes:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group


def make_table(rows, schema, dtype):
    """Rows as a `pyarrow.Table`.

    A row is a tuple: id, file, text, the fields that are kept, tokens (a list of bytes), and a list
    of float32 arrays, one for each column of vectors: (tokens, D), or (D,) if they are pooled.
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
