import os
import resource

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from keras_elmo.features import shards
from keras_elmo.features.columns import VectorColumn

COLUMNS = [VectorColumn("elmo", "elmo", 4), VectorColumn("layer_0", 0, 2)]


def make_rows(lengths, is_pooled=False, scale=1):
    rng = np.random.default_rng(0)
    rows = []
    for k, length in enumerate(lengths):
        tokens = [b"na\xc3\xafve"] * length
        shape = () if is_pooled else (length,)
        arrays = [scale * rng.random((*shape, c.size), np.float32) for c in COLUMNS]
        rows.append((k + 7, "a.txt", " ".join(["na\xefve"] * length), tokens, arrays))
    return rows


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("is_pooled", [False, True])
def test_a_table_holds_the_rows(dtype, is_pooled):
    rows = make_rows([3, 0, 1], is_pooled)
    schema = shards.make_schema(COLUMNS, dtype, is_pooled, "abc")
    table = shards.make_table(rows, schema, dtype)
    table.validate(full=True)
    assert table["id"].to_pylist() == [7, 8, 9]
    assert table["tokens"].to_pylist() == [["na\xefve"] * n for n in (3, 0, 1)]
    assert table["text"][0].as_py() == "na\xefve na\xefve na\xefve"
    vector = pyarrow.list_(pyarrow.from_numpy_dtype(dtype), 4)
    assert schema.field("elmo").type == (vector if is_pooled else pyarrow.list_(vector))
    for number, column in enumerate(COLUMNS):
        for value, row in zip(table[column.name].to_pylist(), rows, strict=True):
            expected = row[-1][number].astype(dtype)
            np.testing.assert_array_equal(np.reshape(value, expected.shape), expected)


def test_numbers_beyond_float16_are_refused():
    schema = shards.make_schema(COLUMNS, "float16", False, "abc")
    with pytest.raises(ValueError, match="elmo do not fit into float16"):
        shards.make_table(make_rows([3], scale=1e6), schema, "float16")


def test_row_groups_are_small(monkeypatch):
    rows = make_rows([1] * 150)
    assert [len(group) for group in shards.row_groups(rows)] == [64, 64, 22]
    monkeypatch.setattr(shards, "_BYTES_PER_GROUP", 10 * 6 * 4)
    assert [len(group) for group in shards.row_groups(make_rows([4] * 9))] == [3, 3, 3]
    assert list(shards.row_groups([])) == []


def test_a_shard_appears_when_it_is_closed(tmp_path):
    path = tmp_path / "shard.parquet"
    schema = shards.make_schema(COLUMNS, "float32", False, "abc")
    writer = shards.ShardWriter(path, schema)
    writer.open()
    for length in (2, 3):
        writer.write(shards.make_table(make_rows([1] * length), schema, "float32"))
    assert [name.startswith(".shard") for name in os.listdir(tmp_path)] == [True]
    with pytest.raises(RuntimeError, match="must have 6 rows. Received: 5"):
        writer.close(6)
    writer.close(5)
    assert os.listdir(tmp_path) == ["shard.parquet"]
    assert shards.num_rows(path, "abc") == 5
    file = pyarrow.parquet.ParquetFile(path)
    assert [file.metadata.row_group(k).num_rows for k in range(2)] == [2, 3]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    writer.abort()  # changes nothing any more
    with pytest.raises(ValueError, match="Received: a file of another run"):
        shards.num_rows(path, "abd")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(ValueError, match="remove it, .* Received: a file that cannot be read"):
        shards.num_rows(path, "abc")


def test_a_shard_that_is_given_up_leaves_nothing(tmp_path):
    schema = shards.make_schema(COLUMNS, "float32", False, "abc")
    writer = shards.ShardWriter(tmp_path / "shard.parquet", schema)
    writer.abort()  # before it is open
    writer.open()
    writer.write(shards.make_table(make_rows([1]), schema, "float32"))
    writer.abort()
    assert os.listdir(tmp_path) == []


def test_names_are_in_the_order_of_the_rows():
    assert shards.shard_names(2) == [
        "shard-00000-of-00002.parquet",
        "shard-00001-of-00002.parquet",
    ]


def test_an_error_of_the_disk_names_the_file(tmp_path):
    schema = shards.make_schema(COLUMNS, "float32", False, "abc")
    writer = shards.ShardWriter(tmp_path / "shard.parquet", schema)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large: '.*/shard.parquet'"):
            writer.open()
            writer.write(shards.make_table(make_rows([50]), schema, "float32"))
            writer.close(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        writer.abort()
    assert os.listdir(tmp_path) == []
