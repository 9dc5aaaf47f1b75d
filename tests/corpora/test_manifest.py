import copy
import json
import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo import Elmo
from keras_elmo.corpora import dataset, embed_files, read_manifest
from keras_elmo.corpora.inputs import InputFile
from keras_elmo.corpora.manifest import (
    MANIFEST,
    describe_model,
    differences,
    fingerprint,
    new_manifest,
    write_manifest,
)
from keras_elmo.corpora.shards import vector_columns

FILES = [InputFile("a.txt", 10, "ab", 3), InputFile("b.txt", 20, "cd", 4)]
SETTINGS = {
    "dtype": "float32",
    "pooled": False,
    "shard_size": 5,
    "token_budget": None,
    "encoding": "utf-8",
    "errors": "strict",
}


def manifest_of(elmo, layers="all", files=FILES, **settings):
    return new_manifest(
        elmo, vector_columns(elmo.config, layers), files, **{**SETTINGS, **settings}
    )


def test_what_determines_the_vectors_differs(elmo):
    old = manifest_of(elmo)
    names = ", ".join(old["layers"])
    changed = [FILES[0], FILES[1]._replace(sha256="ef", bytes=21)]
    for change, message in [
        ({"layers": "top"}, f"layers {names} there and top now"),
        ({"layers": [2, 1, 0]}, f"layers {names} there and layer_2, layer_1, layer_0 now"),
        ({"dtype": "float16"}, "dtype float32 there and float16 now"),
        ({"token_budget": 9}, "token_budget None there and 9 now"),
        ({"field": "text"}, "field None there and text now"),
        ({"keep": {"id": "int64"}}, "keep None there and {'id': 'int64'} now"),
        ({"input_format": "csv"}, "input_format None there and csv now"),
        ({"files": FILES[:1]}, "inputs a.txt, b.txt there and a.txt now"),
        ({"files": changed}, "b.txt has changed since (20 bytes there and 21 now)"),
    ]:
        other = manifest_of(elmo, **change)
        assert differences(old, other) == [message]
        assert fingerprint(old) != fingerprint(other)
    elsewhere = {**old, "model": {**old["model"], "source": "moved"}, "versions": [{}]}
    assert differences(old, elsewhere) == [] and fingerprint(old) == fingerprint(elsewhere)


class Lowering:
    """A tokenizer with a setting."""

    def __init__(self, lower):
        self.lower = lower

    def get_config(self):
        return {"lower": self.lower, "ops": "core"}


def test_a_tokenizer_is_known_by_its_settings(elmo, monkeypatch):
    found = []
    for tokenizer in (Lowering(True), Lowering(False), None):
        monkeypatch.setattr(elmo, "tokenizer", tokenizer)
        found.append(describe_model(elmo)["tokenizer"])
    assert found == ["Lowering(lower=True)", "Lowering(lower=False)", None]


def test_a_model_is_known_by_its_weights(elmo, new_elmo, small_folder):
    assert describe_model(elmo) == describe_model(new_elmo)
    assert describe_model(elmo)["source"] == str(small_folder)
    new_elmo.mixes[0].gamma.assign(2.0)
    assert describe_model(elmo)["sha256"] != describe_model(new_elmo)["sha256"]
    halves = Elmo.from_pretrained(small_folder, dtype="bfloat16", tokenizer="treebank")
    found = differences(manifest_of(elmo), manifest_of(halves))
    assert len(found) == 3 and found[0].startswith(f"model {small_folder} (")
    assert found[1:] == [
        "tokenizer WhitespaceTokenizer there and TreebankTokenizer now",
        "dtype float32 there and bfloat16 now",
    ]


@pytest.mark.parametrize(
    "content",
    [
        *("{", "[]", "{}", "7", "null", '"format"', "\xff", 100_000 * "[", 100_000 * '{"a":'),
        *('{"format": "another"}', '{"format": "keras_elmo.corpora"}', 5000 * "9"),
        '{"format": "keras_elmo.corpora", "format_version": 1, "x": "\\ud800"}',
    ],
    ids=range(13),
)
def test_a_file_of_another_kind(tmp_path, content):
    (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(ValueError, match="must be a manifest of keras_elmo"):
        read_manifest(tmp_path)


def test_manifests_that_cannot_be_used(elmo, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_manifest(tmp_path)
    manifest = manifest_of(elmo)
    del manifest["dtype"], manifest["rows"]
    write_manifest(tmp_path, manifest)
    with pytest.raises(ValueError, match="Received: one without dtype, rows"):
        read_manifest(tmp_path)
    for name, value in [
        ("field", 7),
        ("keep", ["id"]),
        ("keep", {"id": []}),
        ("input_format", "x"),
    ]:
        write_manifest(tmp_path, {**manifest_of(elmo), name: value})
        with pytest.raises(ValueError, match=re.escape(f"Received: {name} {value!r}")):
            read_manifest(tmp_path)
    for version in (99, True, 1.0, None, [1], "1"):
        write_manifest(tmp_path, {"format": "keras_elmo.corpora", "format_version": version})
        with pytest.raises(ValueError, match=re.escape(f"Received: {version!r}")):
            read_manifest(tmp_path)


@pytest.fixture(scope="module")
def written(tmp_path_factory, shared_elmo):
    """A folder of three shards, the call that wrote it, and its manifest."""
    path = tmp_path_factory.mktemp("written")
    (path / "in.txt").write_text("a b\n\nc\nd e f\ng\n")

    def embed(**options):
        options = {"shard_size": 2, **options}
        return embed_files(shared_elmo, path / "in.txt", path / "out", "top", **options)

    return path / "out", embed, embed()


def places(value, path=()):
    """The path of every entry of a nested value."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 1, 10**12, 2**63, 10**400, True])
SCALARS = NUMBERS | st.text(max_size=5) | st.none() | st.booleans()
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["file", "rows"]), inner)
    ),
    max_leaves=6,
)
REMOVED = object()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.data())
def test_a_hostile_manifest_is_refused(written, data):
    """Any change is either harmless or an error of one of two kinds, and removes no file."""
    folder, embed, whole = written
    manifest = copy.deepcopy(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from(list(places(manifest))))
        target = manifest
        for key in parents:
            target = target[key]
        value = data.draw(st.just(REMOVED) | VALUES)
        if value is REMOVED:
            del target[last]
        else:
            target[last] = value
    names = sorted(os.listdir(folder))
    (folder / MANIFEST).write_text(json.dumps(manifest))
    for function in (lambda: read_manifest(folder), lambda: dataset(folder), embed):
        try:
            function()
        except (ValueError, OSError) as error:
            assert "must" in str(error)  # noqa: PT017
            assert len(str(error)) < 5000  # noqa: PT017
    assert sorted(os.listdir(folder)) == names


@pytest.mark.parametrize("rows", [10**12, 2**62])
def test_a_manifest_of_many_rows(written, rows):
    folder, embed, whole = written
    manifest = copy.deepcopy(whole)
    manifest["inputs"][0]["rows"] = manifest["rows"] = rows
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ValueError, match=f"3 shards in the place of {rows // 2:,}"):
        read_manifest(folder)
    (folder / MANIFEST).write_text(json.dumps({**manifest, "complete": False, "shards": []}))
    assert not read_manifest(folder)["complete"]
    with pytest.raises(ValueError, match="must hold vectors of the same run"):
        embed()
    assert embed(overwrite=True)["rows"] == 5
    assert read_manifest(folder) == whole
