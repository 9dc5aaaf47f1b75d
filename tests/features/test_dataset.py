import sys

import h5py
import numpy as np
import pytest

from keras_elmo.cli.embed import _write_hdf5, _write_npz
from keras_elmo.features import dataset, embed_files
from keras_elmo.features.manifest import read_manifest, write_manifest

WORDS = ["the", "cat", "sat", "on", "a", "long", "mat", "."]


def random_lines(count):
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(count)]


LINES = random_lines(700)


@pytest.fixture(scope="module")
def vectors(shared_elmo):
    return shared_elmo.embed(LINES, layers="all")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, shared_elmo):
    """700 sentences in shards of 100."""
    path = tmp_path_factory.mktemp("vectors")
    (path / "in.txt").write_text("".join(f"{line}\n" for line in LINES))
    embed_files(shared_elmo, path / "in.txt", path / "out", shard_size=100)
    return path / "out"


@pytest.fixture(scope="module")
def pooled(tmp_path_factory, shared_elmo, folder):
    path = tmp_path_factory.mktemp("pooled")
    embed_files(
        shared_elmo, folder.parent / "in.txt", path / "out", "elmo", True, "float16", shard_size=90
    )
    return path / "out"


@pytest.fixture(scope="module")
def files(tmp_path_factory, vectors):
    """The same vectors in the files of `keras-elmo embed`."""
    path = tmp_path_factory.mktemp("files")
    _write_hdf5(path / "all.hdf5", vectors, None, False)
    _write_npz(path / "top.npz", [array[2] for array in vectors])
    _write_hdf5(path / "pooled.h5", [array[2].sum(axis=0) for array in vectors], LINES, False)
    return path


def check(batches, vectors, layers):
    """Every sentence is there once, with its vectors; padding is zero. Returns the ids."""
    seen = []
    for batch in batches.as_numpy_iterator():
        assert list(batch) == ["id", "mask", *layers]
        lengths = batch["mask"].sum(axis=1)
        assert batch["mask"].shape[1] == lengths.max()
        seen += batch["id"].tolist()
        for name, layer in layers.items():
            assert batch[name].shape[:2] == batch["mask"].shape
            assert not batch[name][~batch["mask"]].any()
            for row, number in enumerate(batch["id"]):
                expected = vectors[number][layer]
                np.testing.assert_allclose(batch[name][row, : lengths[row]], expected, atol=1e-6)
    assert sorted(seen) == list(range(len(vectors)))
    return seen


ALL = {"layer_0": 0, "layer_1": 1, "layer_2": 2}


def test_every_sentence_of_a_folder_comes_once(folder, vectors):
    batches = dataset(folder)
    assert batches.element_spec["layer_1"].shape.as_list() == [None, None, 16]
    assert check(batches, vectors, ALL) == check(batches, vectors, ALL)
    check(dataset(folder, ["layer_2"], shuffle=True), vectors, {"layer_2": 2})


@pytest.mark.parametrize(
    "name, layers", [("all.hdf5", ALL), ("top.npz", {"vectors": 2})]
)  # fmt: skip
def test_files_of_embed_are_read_too(files, vectors, name, layers):
    check(dataset(files / name, shuffle=True), vectors, layers)
    check(dataset(files / name, max_tokens=100), vectors, layers)


def test_one_vector_for_each_sentence(pooled, files, vectors):
    for path, name, dtype in (
        (pooled, "elmo", "float16"),
        (files / "pooled.h5", "vectors", "float32"),
    ):
        batches = list(dataset(path, batch_size=64).as_numpy_iterator())
        assert [list(batch) for batch in batches] == len(batches) * [["id", name]]
        assert all(batch[name].dtype == dtype for batch in batches)
        ids = np.concatenate([batch["id"] for batch in batches])
        assert sorted(ids) == list(range(700))
        found = np.concatenate([batch[name] for batch in batches])
        for row, number in enumerate(ids):
            array = vectors[number]
            mean = array.mean(axis=0).sum(axis=0) / max(array.shape[1], 1)
            expected = mean if name == "elmo" else array[2].sum(axis=0)
            np.testing.assert_allclose(found[row], expected, atol=2e-3)


def test_batches_hold_sentences_of_like_length(folder):
    for options in {"batch_size": 20}, {"batch_size": None, "max_tokens": 60}:
        shapes = [batch["mask"] for batch in dataset(folder, **options).as_numpy_iterator()]
        share = sum(mask.sum() for mask in shapes) / sum(mask.size for mask in shapes)
        assert share > 0.9
        if "max_tokens" in options:
            assert max(mask.sum() for mask in shapes) <= 60
        else:
            assert max(len(mask) for mask in shapes) == 20


def ids(batches):
    return [number for batch in batches.as_numpy_iterator() for number in batch["id"].tolist()]


def test_the_order_is_random_and_can_be_repeated(folder):
    plain = ids(dataset(folder))
    batches = dataset(folder, shuffle=True, seed=1)
    first, second = ids(batches), ids(batches)
    assert first != plain and first != second
    again = dataset(folder, shuffle=True, seed=1)
    assert (ids(again), ids(again)) == (first, second)
    assert ids(dataset(folder, shuffle=True, seed=2)) != first
    # Neighbours in a batch come from several shards.
    batch = next(iter(batches))["id"].numpy()
    assert len(set(batch // 100)) > 1


def test_only_a_window_is_in_memory(folder, monkeypatch):
    from keras_elmo.features.dataset import _Batches

    sizes = []
    split = _Batches._split
    monkeypatch.setattr(
        _Batches, "_split", lambda self, rows, window: sizes.append(len(rows)) or split(
            self, rows, window
        )
    )  # fmt: skip
    ids(dataset(folder, shuffle=True))
    assert sizes[0] in range(512, 512 + 64) and sum(sizes) == 700
    # Long sentences are fewer: here, what is read at once is more than the bytes of a window.
    sizes.clear()
    monkeypatch.setattr(sys.modules[_Batches.__module__], "_WINDOW_BYTES", 100)
    ids(dataset(folder))
    assert max(sizes) <= 64 and sum(sizes) == 700


def test_a_folder_that_is_not_complete(folder, tmp_path):
    write_manifest(tmp_path, {**read_manifest(folder), "complete": False})
    with pytest.raises(ValueError, match="run the command that wrote it again"):
        dataset(tmp_path)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": None}, "batch_size=None and max_tokens=None"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"seed": "x"}, "seed='x'"),
        ({"columns": ["top"]}, r"there are layer_0, layer_1, layer_2. Received: columns=\['top'"),
        ({"columns": []}, r"columns=\[\]"),
        ({"columns": ["layer_0", "layer_0"]}, "each once"),
    ],
)
def test_bad_arguments(folder, options, message):
    with pytest.raises(ValueError, match=message):
        dataset(folder, **options)


def test_what_is_no_file_of_vectors(tmp_path):
    with pytest.raises(FileNotFoundError, match="_manifest.json"):
        dataset(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        dataset(tmp_path / "nothing")
    with h5py.File(tmp_path / "empty.h5", "w"):
        pass
    with pytest.raises(ValueError, match="must hold a sentence"):
        dataset(tmp_path / "empty.h5")
