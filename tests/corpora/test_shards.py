import contextlib
import random

import numpy as np
import pytest

from keras_elmo.corpora import shards
from keras_elmo.corpora.shards import VectorColumn, as_dtype, vector_columns
from keras_elmo.files.records import Fields, Records

COLUMNS = [VectorColumn("elmo", "elmo", 4), VectorColumn("layer_0", 0, 2)]


def test_each_chosen_layer_is_a_column(elmo):
    for layers, expected in [
        ("all", [("layer_0", 0, 16), ("layer_1", 1, 16), ("layer_2", 2, 16)]),
        ([-1, "word_emb"], [("layer_2", -1, 16), ("word_emb", "word_emb", 8)]),
        ("top", [("top", "top", 16)]),
    ]:
        assert vector_columns(elmo.config, layers) == expected
    for layers in ("default", ["all", -1], 3, []):
        with pytest.raises(ValueError, match="layers"):
            vector_columns(elmo.config, layers)


def test_numbers_beyond_float16_are_refused_beside_others_that_are_not_finite():
    small = np.array([1.5, -65504, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(as_dtype(small, "float16", "top"), small.astype(np.float16))
    assert as_dtype(small, "float32", "top") is small
    with pytest.raises(ValueError, match="top .* Received: 70,000"):
        as_dtype(np.array([np.nan, np.inf, -7e4], np.float32), "float16", "top")


def make_rows(lengths):
    rng = np.random.default_rng(0)
    rows = []
    for k, length in enumerate(lengths):
        arrays = [rng.random((length, column.size), np.float32) for column in COLUMNS]
        text = " ".join(["na\xefve"] * length)
        rows.append((k + 7, "a.txt", text, text.encode().split(), arrays))
    return rows


def test_row_groups_are_small(monkeypatch):
    assert [len(group) for group in shards.row_groups(make_rows([1] * 150))] == [64, 64, 22]
    monkeypatch.setattr(shards, "BYTES_PER_GROUP", 10 * 6 * 4)
    assert [len(group) for group in shards.row_groups(make_rows([4] * 9))] == [3, 3, 3]
    assert list(shards.row_groups([])) == []


def test_a_damaged_shard_is_an_error_where_it_is_read(tmp_path):
    path, schema = tmp_path / "shard.parquet", shards.make_schema(COLUMNS, "float32", False, {})
    table = shards.make_table(make_rows([3, 0, 5]), schema, "float32")
    entry = {"file": path.name, **shards.write_shard(path, schema, iter([table]))}
    content = path.read_bytes()
    rng = random.Random(0)
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="other bytes than were written"):
            shards.check_shard(path.parent, entry, with_digest=True)
        with contextlib.suppress(ValueError):  # before the digest is compared
            shards.group_lengths(path.parent, entry, False)
    path.write_bytes(content[:-9])
    for read in (shards.check_shard, lambda *args: shards.group_lengths(*args, False)):
        with pytest.raises(ValueError, match="must be a whole shard of this run; remove it"):
            read(path.parent, entry)


@pytest.mark.parametrize(
    "values, expected, stored",
    [
        ("7 null -8", "int64", [7, None, -8]),
        ("7 0.5 null", "float64", [7, 0.5, None]),
        ("true null false", "bool", [True, None, False]),
        ('"a" null ""', "string", ["a", None, ""]),
        ("null null", "string", [None, None]),
        ('7 "a" null', "json", ["7", '"a"', None]),
        ("9223372036854775807 -9223372036854775808", "int64", [2**63 - 1, -(2**63)]),
        ("9007199254740993 0.5", "json", ["9007199254740993", "0.5"]),
        ("9223372036854775808 0", "json", ["9223372036854775808", "0"]),
        ('["\\u00e9"] {"a":1}', "json", ['["\xe9"]', '{"a": 1}']),
    ],
)
def test_fields_that_are_kept_have_a_type(tmp_path, values, expected, stored):
    """That of all values, of all files."""
    paths = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    values = values.split(" ")
    for path, part in zip(paths, (values[:1], values[1:]), strict=True):
        with open(path, "w") as file:
            file.writelines(f'{{"text": "x", "n": {value}}}\n' for value in part)
    records = Records(paths, fields=Fields("text", ["n"]))
    assert shards.column_types(records) == {"n": expected}
    found = [shards.as_type(*record.kept, expected) for _, record in records.read()]
    assert found == stored and [type(x) for x in found] == [type(x) for x in stored]
