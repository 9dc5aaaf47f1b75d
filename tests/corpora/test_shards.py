import hashlib
import importlib.util
import os
import random
import resource
import sys

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from keras_elmo.corpora import shards
from keras_elmo.corpora.shards import VectorColumn, as_dtype, vector_columns

COLUMNS = [VectorColumn("elmo", "elmo", 4), VectorColumn("layer_0", 0, 2)]
SCHEMA = shards.make_schema(COLUMNS, "float32", False, "abc")


@pytest.mark.parametrize(
    "content, message",
    [
        (None, r"pip install"),
        ("raise ImportError('libarrow.so: cannot open')", "again. Received: libarrow.so: cannot"),
        ("", "again. Received: No module named 'pyarrow.parquet'"),
    ],
)
def test_pyarrow_is_missing_or_broken(monkeypatch, tmp_path, content, message):
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    if content is None:
        monkeypatch.setitem(sys.modules, "pyarrow", None)  # An import raises an error.
    else:
        (tmp_path / "pyarrow").mkdir()
        (tmp_path / "pyarrow/__init__.py").write_text(content)
        monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.spec_from_file_location("shards_again", shards.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(ImportError, match=message):
        module.check_pyarrow()


@pytest.mark.parametrize(
    "layers, expected",
    [
        ("all", [("layer_0", 0, 16), ("layer_1", 1, 16), ("layer_2", 2, 16)]),
        (-1, [("layer_2", -1, 16)]),
        (["elmo", "word_emb", 0], [("elmo", "elmo", 16), ("word_emb", "word_emb", 8)] + [
            ("layer_0", 0, 16)
        ]),
        (["top", "lstm_outputs1"], [("top", "top", 16), ("lstm_outputs1", "lstm_outputs1", 16)]),
    ],
)  # fmt: skip
def test_each_chosen_layer_is_a_column(elmo, layers, expected):
    assert vector_columns(elmo.config, layers) == expected


@pytest.mark.parametrize("layers", ["default", ["all", -1], 3, []])
def test_wrong_layers(elmo, layers):
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
    rows = make_rows([1] * 150)
    assert [len(group) for group in shards.row_groups(rows)] == [64, 64, 22]
    monkeypatch.setattr(shards, "BYTES_PER_GROUP", 10 * 6 * 4)
    assert [len(group) for group in shards.row_groups(make_rows([4] * 9))] == [3, 3, 3]
    assert list(shards.row_groups([])) == []


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shard.parquet"


@pytest.fixture
def writer(path):
    writer = shards.ShardWriter(path, SCHEMA)
    yield writer
    writer.abort()  # changes nothing, if the shard is closed


def write_groups(writer, *groups):
    writer.open()
    for rows in groups:
        writer.write(shards.make_table(rows, SCHEMA, "float32"))


def test_a_shard_appears_when_it_is_closed(path, writer):
    write_groups(writer, make_rows([1] * 2), make_rows([1] * 3))
    assert [name.startswith(".shard") for name in os.listdir(path.parent)] == [True]
    with pytest.raises(RuntimeError, match="6 rows. Received: 5"):
        writer.close(6)
    written = writer.close(5)
    writer.abort()
    assert os.listdir(path.parent) == ["shard.parquet"]
    content = path.read_bytes()
    assert written == {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    file = pyarrow.parquet.ParquetFile(path)
    assert [file.metadata.row_group(k).num_rows for k in range(2)] == [2, 3]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_an_error_of_the_disk_names_the_file(path, writer):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large: '.*/shard.parquet'"):
            write_groups(writer, make_rows([50]))
            writer.close(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    writer.abort()
    assert os.listdir(path.parent) == []


@pytest.fixture
def entry(writer):
    """The entry in the manifest of a shard of two row groups."""
    rows = make_rows([3, 0, 5, 1, 2])
    write_groups(writer, rows[:3], rows[3:])
    return {"first_id": 7, "rows": 5, **writer.close(5)}


LINES = [("a.txt", " ".join(["na\xefve"] * length)) for length in (3, 0, 5, 1, 2)]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"sha256": 64 * "0"}, "other bytes than were written"),
        ({"bytes": 3}, "bytes in the place of 3"),
        ({"first_id": 8}, "other rows than those from 8 on"),
        ({"rows": 6}, "5 rows in the place of 6"),
    ],
)
def test_the_bytes_and_the_rows_of_a_shard_are_checked(path, entry, change, message):
    shards.check_shard(path, "abc", entry)
    shards.check_shard(path, "abc", {"first_id": 7, "rows": 5})
    with pytest.raises(ValueError, match=message):
        shards.check_shard(path, "abc", {**entry, **change})
    with pytest.raises(ValueError, match="a file of another run"):
        shards.check_shard(path, "abd", entry)
    with pytest.raises(FileNotFoundError):
        shards.check_shard(path.parent / "nothing", "abc", entry)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"schema": shards.make_schema(COLUMNS[:1], "float32", False, "abc")}, "other columns"),
        ({"first_id": 8}, "other values of id"),
        ({"lines": [("b.txt", text) for _, text in LINES]}, "other values of file"),
        ({"lines": [*LINES[:-1], ("a.txt", "x")]}, "other values of text"),
        ({"lines": [*LINES, LINES[0]]}, "5 rows in the place of 6"),
    ],
)
def test_the_content_is_compared_with_the_input(path, entry, change, message):
    arguments = {"schema": SCHEMA, "first_id": 7, "lines": LINES}
    shards.check_content(path, **arguments)
    with pytest.raises(ValueError, match=message):
        shards.check_content(path, **{**arguments, **change})


def test_fields_that_are_kept_are_compared_too(path):
    kept = {"id": "int64", "x/y": "json"}
    schema = shards.make_schema(COLUMNS, "float32", False, "abc", kept)
    assert schema.names[3:6] == ["kept_id", "kept_x/y", "tokens"]
    rows = [
        (*row[:3], None if row[0] == 8 else row[0], "[1]", *row[3:]) for row in make_rows([2, 1])
    ]
    writer = shards.ShardWriter(path, schema)
    writer.open()
    writer.write(shards.make_table(rows, schema, "float32"))
    writer.close(2)
    lines = [row[1:5] for row in rows]
    shards.check_content(path, schema, 7, lines)
    with pytest.raises(ValueError, match="other values of kept_id"):
        shards.check_content(path, schema, 7, [lines[0], (*lines[1][:2], 8, "[1]")])


@pytest.mark.parametrize("part", ["pages", "footer"])
def test_no_flipped_bit_is_read_as_other_values(path, entry, part):
    """Each of 60 is an error, or changes no value. The digest finds every one of them."""
    content = path.read_bytes()
    whole = pyarrow.parquet.read_table(path)
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    places = range(footer) if part == "pages" else range(footer, len(content))
    rng = random.Random(part)
    found = []
    for _ in range(60):
        damaged = bytearray(content)
        damaged[rng.choice(places)] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="other bytes than were written"):
            shards.check_shard(path, "abc", entry)
        try:  # as a run that resumes, for a shard without an entry
            shards.check_shard(path, "abc", {"first_id": 7, "rows": 5})
            shards.check_content(path, SCHEMA, 7, LINES)
            with shards.open_shard(path) as file:
                groups = range(file.num_row_groups)
            read = [shards.read_group(path, k, SCHEMA.names) for k in groups]
        except ValueError as error:
            found.append(error)
        else:
            assert pyarrow.concat_tables(read).equals(whole)
    assert len(found) > (50 if part == "pages" else 5)


def test_names_of_shards_are_known_without_a_list():
    names = shards.shard_names(3)
    assert names[1] == "shard-00001-of-00003.parquet"
    assert all(shards.is_shard_name(name, 3) for name in names)
    assert shards.is_shard_name(shards.shard_name(123456, 10**12), 10**12)
    others = (
        "shard-00001-of-00004", "shard-00003-of-00003", "shard-0-of-3", "shard-000001-of-00003",
        "shard-\u0661\u0661\u0661\u0661\u0661-of-00003", "other",
    )  # fmt: skip
    for name in *(f"{name}.parquet" for name in others), f"{names[1]}\n":
        assert not shards.is_shard_name(name, 3)
