import pytest

from keras_elmo import Elmo
from keras_elmo.corpora import read_manifest
from keras_elmo.corpora.manifest import (
    MANIFEST,
    describe_model,
    differences,
    new_manifest,
    write_manifest,
)
from keras_elmo.corpora.shards import vector_columns

FILES = [
    {"file": "a.txt", "bytes": 10, "sha256": "ab", "rows": 3},
    {"file": "b.txt", "bytes": 20, "sha256": "cd", "rows": 4},
]
SETTINGS = {"dtype": "float32", "pooled": False, "shard_size": 5, "token_budget": None}
SETTINGS |= {"encoding": "utf-8", "errors": "strict", "field": None, "keep": {}}
SETTINGS |= {"input_format": None}


def manifest_of(elmo, layers="all", files=FILES, **settings):
    return new_manifest(elmo, vector_columns(elmo.config, layers), files, **SETTINGS | settings)


def test_what_determines_the_vectors_differs(elmo):
    old = manifest_of(elmo)
    names = list(old["layers"])
    changed = [FILES[0], FILES[1] | {"sha256": "ef", "bytes": 21}]
    for change, message in [
        ({"layers": [2, 1, 0]}, f"layers {names} there and {names[::-1]} now"),
        ({"dtype": "float16"}, "dtype 'float32' there and 'float16' now"),
        ({"token_budget": 9}, "token_budget None there and 9 now"),
        ({"field": "text"}, "field None there and 'text' now"),
        ({"keep": {"id": "int64"}}, "keep {} there and {'id': 'int64'} now"),
        ({"input_format": "csv"}, "input_format None there and 'csv' now"),
        ({"files": FILES[:1]}, "inputs ['a.txt', 'b.txt'] there and ['a.txt'] now"),
        ({"files": changed}, "b.txt has changed since (20 bytes there and 21 now)"),
    ]:
        other = manifest_of(elmo, **change)
        assert differences(old, other) == [message]
    elsewhere = {**old, "model": {**old["model"], "source": "moved"}, "versions": [{}]}
    assert differences(old, elsewhere) == []


class Lowering:
    tokenize = None

    def get_config(self):
        return {"lower": True, "ops": "core"}


def test_a_tokenizer_is_known_by_its_settings(elmo, monkeypatch):
    monkeypatch.setattr(elmo, "tokenizer", Lowering())
    assert describe_model(elmo)["tokenizer"] == "Lowering(lower=True)"


def test_a_model_is_known_by_its_weights(elmo, new_elmo, small_folder):
    assert describe_model(elmo) == describe_model(new_elmo)
    assert describe_model(elmo)["source"] == str(small_folder)
    halves = Elmo.from_pretrained(small_folder, dtype="bfloat16", tokenizer="treebank")
    found = differences(manifest_of(elmo), manifest_of(halves))
    assert len(found) == 3 and found[0].startswith("model sha256 '")
    assert found[1:] == [
        "model tokenizer 'WhitespaceTokenizer' there and 'TreebankTokenizer' now",
        "model dtype 'float32' there and 'bfloat16' now",
    ]


def test_manifests_that_cannot_be_used(tmp_path):
    for content in ("{", "[]", '{"format": 1}', '{"keras_elmo.corpora": 99}'):
        (tmp_path / MANIFEST).write_text(content)
        with pytest.raises(ValueError, match="must be a manifest of keras_elmo .* version 1. Rec"):
            read_manifest(tmp_path)


def test_a_damaged_manifest_is_named_by_its_entry(tmp_path, elmo):
    shard = {"file": "shard-00000-of-00001.parquet", "first_id": 0, "rows": 1, "bytes": 1}
    shard |= {"sha256": "0"}
    whole = manifest_of(elmo) | {"shards": [shard]}
    write_manifest(tmp_path, whole)
    assert read_manifest(tmp_path) == whole
    for name in ("model", "inputs", "versions", "shards", "rows"):
        for damaged in ({**whole, name: None}, {k: v for k, v in whole.items() if k != name}):
            write_manifest(tmp_path, damaged)
            with pytest.raises(ValueError, match=f"Received: another value of {name}"):
                read_manifest(tmp_path)
    for part in ({"file": "../" + shard["file"]}, {"bytes": "1"}):
        write_manifest(tmp_path, {**whole, "shards": [shard | part]})
        with pytest.raises(ValueError, match="Received: another value of (shards|the file)"):
            read_manifest(tmp_path)
