import os
import shutil
import sys

import keras
import numpy as np
import pytest

from keras_elmo import MaskedMean
from keras_elmo.corpora import VectorDataset, embed_files
from keras_elmo.corpora.manifest import read_manifest, write_manifest
from keras_elmo.weights.embedding_files import write_embeddings

WORDS = ["the", "cat", "sat", "on", "a", "long", "mat", "."]
_rng = np.random.default_rng(0)
LINES = [" ".join(_rng.choice(WORDS, _rng.integers(0, 12))) for _ in range(700)]


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


def check(batches, vectors, layers):
    """Every sentence is there once, with its vectors; padding is zero."""
    seen = []
    for batch in batches:
        assert list(batch) == ["id", "mask", *layers]
        lengths = batch["mask"].sum(axis=1)
        assert batch["mask"].shape[1] == max(1, lengths.max())
        seen += batch["id"].tolist()
        for name, layer in layers.items():
            assert batch[name].shape[:2] == batch["mask"].shape
            assert not batch[name][~batch["mask"]].any()
            for row, number in enumerate(batch["id"]):
                expected = vectors[number][layer]
                np.testing.assert_allclose(batch[name][row, : lengths[row]], expected, atol=1e-6)
    assert sorted(seen) == list(range(len(vectors)))


ALL = {"layer_0": 0, "layer_1": 1, "layer_2": 2}


def test_every_sentence_of_a_folder_comes_once(folder, vectors):
    check(VectorDataset(folder), vectors, ALL)
    check(VectorDataset(folder, ["layer_2"], shuffle=True), vectors, {"layer_2": 2})


def test_files_of_embed_are_read_too(tmp_path, vectors):
    write_embeddings(tmp_path / "all.hdf5", vectors)
    check(VectorDataset(tmp_path / "all.hdf5", shuffle=True), vectors, ALL)
    write_embeddings(tmp_path / "top.npz", [array[2] for array in vectors])
    dataset = VectorDataset(tmp_path / "top.npz", max_tokens=100)
    check(dataset, vectors, {"vectors": 2})
    dataset.close()
    with pytest.raises(ValueError, match="must be open"):
        dataset[0]


def test_one_vector_for_each_sentence(tmp_path, shared_elmo, folder, vectors):
    pooled, file, text = tmp_path / "pooled", tmp_path / "pooled.h5", folder.parent / "in.txt"
    embed_files(shared_elmo, text, pooled, "elmo", True, "float16", shard_size=90)
    write_embeddings(file, [array[2].sum(axis=0) for array in vectors], LINES)
    for path, name, dtype in (pooled, "elmo", "float16"), (file, "vectors", "float32"):
        batches = list(VectorDataset(path, batch_size=64))
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
        masks = [batch["mask"] for batch in VectorDataset(folder, **options)]
        assert sum(mask.sum() for mask in masks) / sum(mask.size for mask in masks) > 0.9
        sizes = [mask.sum() if "max_tokens" in options else len(mask) for mask in masks]
        assert max(sizes) <= options.get("max_tokens", 20)


def ids(batches):
    return [number for batch in batches for number in batch["id"].tolist()]


def test_the_order_is_random_and_can_be_repeated(folder):
    epochs = []
    for seed in (1, 1, 2):
        batches = VectorDataset(folder, shuffle=True, seed=seed)
        epochs.append(ids(batches))
        batches.on_epoch_end()
        epochs.append(ids(batches))
    assert epochs[:2] == epochs[2:4] and len(set(map(tuple, epochs))) == 4
    # Neighbours in a batch come from several shards.
    assert len(set(batches[0]["id"] // 100)) > 1


def test_only_a_window_is_in_memory(folder, monkeypatch):
    """A batch without limits is a window."""

    def windows():
        return [len(batch["id"]) for batch in VectorDataset(folder, batch_size=1000, shuffle=True)]

    assert windows()[0] in range(512, 512 + 64)
    # Long sentences are fewer: here, a row group is more than the bytes of a window.
    monkeypatch.setattr(sys.modules["keras_elmo.corpora.vector_dataset"], "WINDOW_BYTES", 100)
    assert max(windows()) <= 64


def test_batches_of_empty_lines_have_a_column_of_padding(tmp_path, shared_elmo):
    """Recurrent layers fail on batches without columns."""
    (tmp_path / "in.txt").write_text(40 * "\n" + 5 * "the cat sat\n")
    embed_files(shared_elmo, tmp_path / "in.txt", tmp_path / "out", "top")
    batches = list(VectorDataset(tmp_path / "out"))
    assert batches[0]["mask"].shape == (32, 1) and batches[0]["top"].shape == (32, 1, 16)
    assert not batches[0]["mask"].any() and not batches[0]["top"].any()


def test_a_damaged_folder_is_refused_before_it_is_read(folder, tmp_path):
    copy, manifest = shutil.copytree(folder, tmp_path / "copy"), read_manifest(folder)
    shards = manifest["shards"]
    write_manifest(copy, {**manifest, "complete": False, "shards": []})
    with pytest.raises(ValueError, match="complete"):
        VectorDataset(copy)
    write_manifest(copy, manifest)
    with open(copy / shards[3]["file"], "ab") as file:
        file.write(b"x")
    with pytest.raises(ValueError, match="00003-of-00007.* bytes instead of"):
        VectorDataset(copy)
    os.remove(copy / shards[3]["file"])
    with pytest.raises(FileNotFoundError, match="00003-of-00007"):
        VectorDataset(copy)


def test_a_flipped_bit_is_found_where_it_is_read(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    shard = read_manifest(copy)["shards"][6]  # the first window ends before it
    content = bytearray((copy / shard["file"]).read_bytes())
    content[len(content) // 3] ^= 1  # in a page of vectors
    (copy / shard["file"]).write_bytes(content)
    batches = VectorDataset(copy, ["layer_2"])
    assert len(batches[0]["id"]) == 32
    with pytest.raises(ValueError, match="00006-of-00007.* other bytes than were written"):
        ids(batches)


def test_a_model_is_trained_with_labels(folder):
    """By several workers. The labels are joined by the ids."""
    labels = np.arange(700) % 3
    batches = VectorDataset(folder, ["layer_1"], labels, shuffle=True, seed=1, workers=2)
    inputs, found = batches[0]
    plain = VectorDataset(folder, ["layer_1"], shuffle=True, seed=1)[0]
    assert list(inputs) == ["mask", "layer_1"]
    np.testing.assert_array_equal(found, labels[plain["id"]])
    by_id = VectorDataset(folder, ["layer_1"], dict(enumerate("abc" * 234)), shuffle=True, seed=1)
    assert by_id[0][1].tolist() == ["abc"[label] for label in found]

    inputs = {
        "layer_1": keras.Input((None, 16), name="layer_1"),
        "mask": keras.Input((None,), dtype="bool", name="mask"),
    }
    mean = MaskedMean()(inputs["layer_1"], mask=inputs["mask"])
    model = keras.Model(inputs, keras.layers.Dense(3, "softmax")(mean))
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    history = model.fit(batches, shuffle=False, epochs=2, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_arguments_and_paths_that_are_refused(folder, tmp_path):
    for options, message in [
        ({"batch_size": None}, "`batch_size` or `max_tokens` must be given"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        *[({"columns": columns}, "columns") for columns in (["top"], [], 2 * ["layer_0"])],
    ]:
        with pytest.raises(ValueError, match=message):
            VectorDataset(folder, **options)
    with pytest.raises(FileNotFoundError, match="_manifest.json"):
        VectorDataset(tmp_path)
    write_embeddings(tmp_path / "empty.h5", [])
    with pytest.raises(ValueError, match="must hold a sentence"):
        VectorDataset(tmp_path / "empty.h5")
