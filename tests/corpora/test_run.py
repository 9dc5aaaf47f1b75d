import hashlib
import itertools
import json
import os

import numpy as np
import pandas
import polars
import pytest
from corpora import killed

from keras_elmo import Elmo
from keras_elmo.corpora import embed_files, read_manifest
from keras_elmo.corpora import run as run_module
from keras_elmo.corpora.manifest import MANIFEST, write_manifest

WORDS = ["the", "cat", "sat", "on", "a", "long", "mat", ".", "na\xefve", "\U0001f600"]


def random_lines(count, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(count)]


LINES = random_lines(23)


def write_inputs(folder):
    """Two files of 23 lines in all."""
    for name, lines in {"a.txt": LINES[:10], "b.txt": LINES[10:]}.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with the inputs."""
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    return tmp_path


@pytest.fixture
def embed(elmo, folder):
    def run(output="out", **options):
        options = {"shard_size": 5, "layers": "top", **options}
        return embed_files(elmo, options.pop("inputs", "*.txt"), output, **options)

    return run


def contents(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(folder))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, shared_elmo):
    """What a run that nobody stopped writes, by the names of the files."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_inputs(folder)
        embed_files(shared_elmo, "*.txt", "out", "top", shard_size=5)
    return contents(folder / "out")


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_folder_holds_what_embed_gives(embed, elmo, folder, dtype):
    manifest = embed(layers=["all", "word_emb"], dtype=dtype)
    table = pandas.read_parquet("out")  # reads the folder without us
    assert table["id"].tolist() == list(range(23))
    assert table["file"].tolist() == 10 * ["a.txt"] + 13 * ["b.txt"]
    assert table["text"].tolist() == LINES
    assert [list(tokens) for tokens in table["tokens"]] == elmo.tokenize(LINES)
    expected = elmo.embed(LINES, [0, 1, 2, "word_emb"])
    for k, name in itertools.product(range(23), ["layer_0", "layer_1", "layer_2", "word_emb"]):
        array = expected[k][name if name == "word_emb" else int(name[-1])]
        found = np.array([*table[name][k]]).reshape(array.shape)
        assert found.dtype == dtype or not len(array)
        np.testing.assert_allclose(found, array, atol=1e-6 if dtype == "float32" else 1e-3)
    assert manifest["complete"] and manifest["rows"] == 23
    assert read_manifest("out") == manifest
    files, first_ids, rows = contents(folder / "out"), [0, 5, 10, 15, 20], [5, 5, 5, 5, 3]
    assert list(files) == [MANIFEST, *(shard["file"] for shard in manifest["shards"])]
    for shard, *place in zip(manifest["shards"], first_ids, rows, strict=True):
        content = files[shard["file"]]
        assert [shard["first_id"], shard["rows"], shard["bytes"]] == [*place, len(content)]
        assert shard["sha256"] == hashlib.sha256(content).hexdigest()


def test_pooled_vectors_are_means(embed, elmo, folder):
    embed(pooled=True, layers=["elmo", 1])
    table = polars.read_parquet("out/*.parquet")  # reads the folder without us
    assert table.schema["elmo"] == polars.Array(polars.Float32, 16)
    assert table["text"].to_list() == LINES and "" in LINES
    for k, row in enumerate(elmo.embed(LINES, layers=["default", 1])):
        np.testing.assert_allclose(table["elmo"].to_numpy()[k], row["default"], atol=1e-6)
        mean = row[1].mean(axis=0) if len(row[1]) else np.zeros(16)
        np.testing.assert_allclose(table["layer_1"].to_numpy()[k], mean, atol=1e-6)


class Stopped(Exception):
    pass


def stopping(rows):
    def stop(progress):
        if progress.rows >= rows:
            raise Stopped

    return stop


@pytest.mark.parametrize("rows", [0, 11, 23])
def test_a_stopped_run_is_resumed_with_the_same_bytes(embed, folder, whole, rows):
    with pytest.raises(Stopped):
        embed(on_progress=stopping(rows))
    assert not killed.parts_in("out")
    before = {name: os.stat(f"out/{name}").st_mtime_ns for name in killed.shards_in("out")}
    if rows:
        assert not read_manifest("out")["complete"]
    embed()
    assert contents(folder / "out") == whole
    # What was there is not written again.
    assert before == {name: os.stat(f"out/{name}").st_mtime_ns for name in before}


def test_any_shard_may_be_missing(embed, folder, whole):
    shards, seen = embed()["shards"], []
    for index in (1, 4):
        os.remove(f"out/{shards[index]['file']}")
    embed(on_progress=seen.append)
    assert seen[0] == (15, 23, 3, 5, 0) and seen[-1] == (23, 23, 5, 5, 8)
    embed(on_progress=seen.append)  # nothing is missing
    assert seen[-1] == (23, 23, 5, 5, 0) and contents(folder / "out") == whole


def test_another_run_is_refused_and_changes_nothing(embed, folder, new_elmo):
    embed()
    before = contents(folder / "out")
    with pytest.raises(ValueError, match="nothing was changed. Received: pooled .* there and"):
        embed(pooled=True)
    new_elmo.mixes[0].gamma.assign(2.0)
    with pytest.raises(ValueError, match="Received: model sha256 "):
        embed_files(new_elmo, "*.txt", "out", "top", shard_size=5)
    with open("b.txt", "a") as file:
        file.write("one more\n")
    with pytest.raises(ValueError, match="b.txt has changed since"):
        embed()
    assert contents(folder / "out") == before
    open("out/mine.txt", "w").close()
    manifest = embed(overwrite=True, shard_size=12)
    expected = [MANIFEST, "mine.txt", *(shard["file"] for shard in manifest["shards"])]
    assert manifest["rows"] == 24 and sorted(os.listdir("out")) == sorted(expected)


def test_records_and_the_fields_that_are_kept(embed, elmo, folder):
    records = [{"id": k, "text": line, "x": [k]} for k, line in enumerate(LINES)]
    records[3] |= {"text": ["a long", "mat"], "id": None}
    (folder / "in.jsonl").write_text("".join(json.dumps(record) + "\n\n" for record in records))
    options = {"inputs": "in.jsonl", "field": "text", "keep": ["id", "x"]}
    manifest = embed("whole", **options)
    assert manifest["keep"] == {"id": "int64", "x": "json"} and manifest["rows"] == 23
    table = pandas.read_parquet("whole", dtype_backend="pyarrow")
    assert table["kept_id"].fillna(-1).tolist() == [0, 1, 2, -1, *range(4, 23)]
    assert table["kept_x"].tolist() == [f"[{k}]" for k in range(23)]
    assert table["text"][3] == "a long mat" and list(table["tokens"][3]) == ["a long", "mat"]
    (expected,) = elmo.embed([["a long", "mat"]], "top")
    np.testing.assert_allclose(np.stack(table["top"][3]), expected, atol=1e-6)
    before = contents(folder / "whole")
    os.remove(f"whole/{manifest['shards'][1]['file']}")
    embed("whole", **options)
    assert contents(folder / "whole") == before
    with pytest.raises(ValueError, match="must have the fields text, y. .*: line 1, with id, text"):
        embed("other", **{**options, "keep": ["y"]})
    assert not os.path.exists("other")


def test_other_folders_are_left_alone(embed):
    with pytest.raises(ValueError, match="a.txt and without _manifest"):
        embed(".")
    with pytest.raises(NotADirectoryError, match="a.txt"):
        embed("a.txt")


def test_shards_that_are_damaged_or_not_recorded(embed, folder, whole):
    manifest = embed()
    first = manifest["shards"][0]["file"]
    (folder / "out" / first).write_bytes(whole[first][:-9])
    with pytest.raises(ValueError, match=f"{first} must be a whole shard .* bytes instead of"):
        embed()
    (folder / "out" / first).write_bytes(whole[first][:-9] + b"123456789")
    assert embed()["complete"]
    with pytest.raises(ValueError, match=f"{first} must be a whole shard .*: other bytes"):
        embed(check=True)
    os.remove(f"out/{first}")
    write_manifest("out", {**manifest, "complete": False, "shards": manifest["shards"][:2]})
    (folder / "out" / manifest["shards"][2]["file"]).write_bytes(b"half of it")
    (folder / "out" / "shard-00007-of-00009.parquet").write_bytes(b"")
    embed()
    assert contents(folder / "out") == whole


def test_an_input_that_changes_during_the_run(embed, folder, whole):
    """With as many lines and bytes. What was written of it is refused afterwards."""
    before = (folder / "b.txt").read_bytes()

    def change(progress):
        if progress.new_rows == 0:
            (folder / "b.txt").write_bytes(before.replace(b"cat", b"dog").replace(b"mat", b"pig"))

    with pytest.raises(ValueError, match="b.txt must not change while it is read"):
        embed(on_progress=change)
    assert not read_manifest("out")["complete"]
    with pytest.raises(ValueError, match="b.txt has changed since"):
        embed()
    (folder / "b.txt").write_bytes(before)
    embed()  # The shards of the other text are not recorded.
    assert contents(folder / "out") == whole


def test_other_versions_are_recorded(embed, folder, monkeypatch):
    with pytest.raises(Stopped):
        embed(on_progress=stopping(11))
    now = run_module.versions()
    monkeypatch.setattr(run_module, "versions", lambda: {**now, "tensorflow": "9"})
    manifest = embed()
    assert [v["tensorflow"] for v in manifest["versions"]] == [now["tensorflow"], "9"]


def test_an_input_without_lines_has_one_shard(embed, folder):
    (folder / "a.txt").write_text("")
    manifest = embed("new/out", inputs="a.txt")
    assert [shard["rows"] for shard in manifest["shards"]] == [0]
    assert list(pandas.read_parquet("new/out")) == ["id", "file", "text", "tokens", "top"]


def test_wrong_arguments_leave_nothing(embed):
    for name, value in {"dtype": "float64", "token_budget": 0, "errors": "ignore"}.items():
        with pytest.raises(ValueError, match=str(value)):
            embed(**{name: value})
    assert sorted(os.listdir()) == ["a.txt", "b.txt"]


def test_a_model_may_be_named(embed, elmo, folder, small_folder, whole, monkeypatch):
    """Its arguments are those of `from_pretrained`."""
    with monkeypatch.context() as patch:
        patch.setattr(Elmo, "from_files", lambda *_, **kwargs: found.append(kwargs) or elmo)
        found = []
        embed_files(small_folder, "*.txt", "out", "top", shard_size=5, tokenizer="whitespace")
    assert found == [{"source": str(small_folder), "tokenizer": "whitespace"}]
    assert contents(folder / "out") == whole
    with pytest.raises(ValueError, match="keep_sentence_boundaries=True"):
        embed_files(small_folder, "a.txt", "other", keep_sentence_boundaries=True)
    with pytest.raises(TypeError, match="Received: tokenizer"):
        embed("other", tokenizer="space")
    assert not os.path.exists("other")
