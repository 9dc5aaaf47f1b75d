import os
import shutil
import subprocess
import sys

import keras
import numpy as np
import pyarrow.parquet
import pytest
import tensorflow as tf

from keras_elmo.corpora import dataset, embed_files
from keras_elmo.corpora.embedding_files import write_hdf5, write_npz
from keras_elmo.corpora.manifest import read_manifest, write_manifest

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


@pytest.fixture(scope="module")
def pooled(shared_elmo, folder):
    path, text = folder.parent / "pooled", folder.parent / "in.txt"
    embed_files(shared_elmo, text, path, "elmo", True, "float16", shard_size=90)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory, vectors):
    """The same vectors in the files of `keras-elmo embed`."""
    path = tmp_path_factory.mktemp("files")
    write_hdf5(path / "all.hdf5", vectors)
    write_npz(path / "top.npz", [array[2] for array in vectors])
    write_hdf5(path / "pooled.h5", [array[2].sum(axis=0) for array in vectors], LINES)
    return path


def check(batches, vectors, layers):
    """Every sentence is there once, with its vectors; padding is zero. Returns the ids."""
    seen = []
    for batch in batches.as_numpy_iterator():
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
    return seen


ALL = {"layer_0": 0, "layer_1": 1, "layer_2": 2}


def test_every_sentence_of_a_folder_comes_once(folder, vectors):
    batches = dataset(folder)
    assert batches.element_spec["layer_1"].shape.as_list() == [None, None, 16]
    assert check(batches, vectors, ALL) == check(batches, vectors, ALL)
    check(dataset(folder, ["layer_2"], shuffle=True), vectors, {"layer_2": 2})


@pytest.mark.parametrize("name, layers", [("all.hdf5", ALL), ("top.npz", {"vectors": 2})])
def test_files_of_embed_are_read_too(files, vectors, name, layers):
    check(dataset(files / name, shuffle=True), vectors, layers)
    check(dataset(files / name, max_tokens=100), vectors, layers)


def test_one_vector_for_each_sentence(pooled, files, vectors):
    file = files / "pooled.h5"
    for path, name, dtype in (pooled, "elmo", "float16"), (file, "vectors", "float32"):
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
        masks = [batch["mask"] for batch in dataset(folder, **options).as_numpy_iterator()]
        assert sum(mask.sum() for mask in masks) / sum(mask.size for mask in masks) > 0.9
        sizes = [mask.sum() if "max_tokens" in options else len(mask) for mask in masks]
        assert max(sizes) <= options.get("max_tokens", 20)


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
    """A batch without limits is a window."""

    def windows():
        return [len(batch["id"]) for batch in dataset(folder, batch_size=1000, shuffle=True)]

    sizes = windows()
    assert sizes[0] in range(512, 512 + 64) and sum(sizes) == 700
    # Long sentences are fewer: here, a row group is more than the bytes of a window.
    monkeypatch.setattr(sys.modules["keras_elmo.corpora.dataset"], "WINDOW_BYTES", 100)
    sizes = windows()
    assert max(sizes) <= 64 and sum(sizes) == 700


def test_batches_of_empty_lines_have_a_column_of_padding(tmp_path, shared_elmo):
    """Recurrent layers fail on batches without columns."""
    (tmp_path / "in.txt").write_text(40 * "\n" + 5 * "the cat sat\n")
    embed_files(shared_elmo, tmp_path / "in.txt", tmp_path / "out", "top")
    write_hdf5(tmp_path / "top.hdf5", [np.zeros((0, 16), np.float32)] * 40)
    lstm = keras.layers.LSTM(3)
    for path, name, rows in (tmp_path / "out", "top", 45), (tmp_path / "top.hdf5", "vectors", 40):
        batches = list(dataset(path, batch_size=32))
        assert batches[0]["mask"].shape == (32, 1) and batches[0][name].shape == (32, 1, 16)
        assert not batches[0]["mask"].numpy().any() and not batches[0][name].numpy().any()
        outputs = [lstm(batch[name], mask=batch["mask"]) for batch in batches]
        assert sum(len(output) for output in outputs) == rows
        assert np.isfinite(np.concatenate(outputs)).all()


@pytest.fixture
def copy(folder, tmp_path):
    """A folder that a test may damage."""
    return shutil.copytree(folder, tmp_path / "copy")


def test_a_damaged_folder_is_refused_before_it_is_read(copy):
    manifest = read_manifest(copy)
    shards = manifest["shards"]
    for damaged in (
        shards[:-1],  # too few
        [shards[1], shards[0], *shards[2:]],
        [shards[0], *shards[:-1]],  # two that overlap
        [{**shards[0], "file": "../in.txt"}, *shards[1:]],
        [{**shards[0], "rows": 99}, *shards[1:]],
        [{**shards[0], "sha256": None}, *shards[1:]],
        [{name: shards[0][name] for name in shards[0] if name != "sha256"}, *shards[1:]],
    ):
        write_manifest(copy, {**manifest, "shards": damaged})
        with pytest.raises(ValueError, match="shard"):
            dataset(copy)
    write_manifest(copy, {**manifest, "complete": False, "shards": []})
    with pytest.raises(ValueError, match="complete"):
        dataset(copy)
    write_manifest(copy, manifest)
    with open(copy / shards[3]["file"], "ab") as file:
        file.write(b"x")
    with pytest.raises(ValueError, match="00003-of-00007.* bytes in the place"):
        dataset(copy)
    os.remove(copy / shards[3]["file"])
    with pytest.raises(FileNotFoundError, match="00003-of-00007"):
        dataset(copy)


def test_swapped_shards_are_refused(copy):
    first, second = [shard["file"] for shard in read_manifest(copy)["shards"][:2]]
    one, two = (copy / first).read_bytes(), (copy / second).read_bytes()
    (copy / first).write_bytes(two)
    (copy / second).write_bytes(one)
    manifest = read_manifest(copy)
    for shard in manifest["shards"]:  # as if they were of one size
        shard["bytes"] = os.path.getsize(copy / shard["file"])
    write_manifest(copy, manifest)
    with pytest.raises(tf.errors.OpError, match="other bytes than were written"):
        ids(dataset(copy))


def test_damage_after_the_first_reading_is_found(copy, vectors):
    """The digest is compared once; the pages are checked in each reading."""
    batches = dataset(copy, ["layer_2"])
    check(batches, vectors, {"layer_2": 2})
    path = copy / read_manifest(copy)["shards"][0]["file"]
    content = bytearray(path.read_bytes())
    column = pyarrow.parquet.read_metadata(path).row_group(0)
    names = [column.column(k).path_in_schema for k in range(column.num_columns)]
    place = column.column([n.startswith("layer_2") for n in names].index(True)).data_page_offset
    content[place + 2000] ^= 1
    path.write_bytes(content)
    with pytest.raises(tf.errors.OpError, match="must be a whole shard of this run"):
        check(batches, vectors, {"layer_2": 2})


@pytest.mark.parametrize(
    "options, message",
    [
        ({"batch_size": None}, "batch_size=None and max_tokens=None"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"max_tokens": 0}, "max_tokens=0"),
        ({"seed": "x"}, "seed='x'"),
        *[({"columns": columns}, "columns") for columns in (["top"], [], 2 * ["layer_0"])],
    ],
)
def test_bad_arguments(folder, options, message):
    with pytest.raises(ValueError, match=message):
        dataset(folder, **options)


def test_paths_without_vectors(tmp_path):
    with pytest.raises(FileNotFoundError, match="_manifest.json"):
        dataset(tmp_path)
    with pytest.raises(FileNotFoundError, match="nothing"):
        dataset(tmp_path / "nothing")
    write_hdf5(tmp_path / "empty.h5", [])
    with pytest.raises(ValueError, match="must hold a sentence"):
        dataset(tmp_path / "empty.h5")


# The file is read so slowly that a batch is being read when the process ends.
_EXIT = """
import sys, time
import keras, tensorflow as tf
from keras_elmo.corpora import dataset, embedding_files

read = embedding_files.EmbeddingsFile.__getitem__
def slowly(self, index):
    time.sleep(0.01)
    return read(self, index)
embedding_files.EmbeddingsFile.__getitem__ = slowly
sys.modules["keras_elmo.corpora.dataset"].WINDOW = 20  # each batch is read by itself

class Fails(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        raise RuntimeError("an error in fit")

batches = dataset(sys.argv[1], columns=["layer_1"], shuffle=True, batch_size=20)
form = sys.argv[2]
if form == "fit":
    batches = batches.map(lambda batch: (batch["layer_1"], tf.cast(batch["id"] % 2, "float32")))
    model = keras.Sequential([keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly=True)
    model.fit(batches, callbacks=[Fails()], verbose=0)
if form == "repeat":
    batches = batches.map(lambda batch: batch["layer_1"], num_parallel_calls=2)
    batches = batches.repeat().prefetch(8)
iterators = [iter(batches) for _ in range(5 if form == "many" else 1)]
for iterator in iterators:
    next(iterator)
if form == "many":
    raise RuntimeError("an error in fit")
"""


@pytest.mark.parametrize(
    "form, count",
    [("fit", 1)]
    + [pytest.param(f, 6, marks=pytest.mark.slow) for f in ("fit", "iterator", "repeat", "many")],
)
def test_a_process_ends_while_a_batch_is_read(files, form, count):
    """In every form in which an iterator is left, also after an error in `fit`."""
    command = [sys.executable, "-c", _EXIT, files / "all.hdf5", form]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    for _ in range(count):
        process = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300
        )  # one that hangs is killed, and the test fails
        expected = "RuntimeError: an error in fit\n" if form in ("fit", "many") else ""
        assert process.stderr.endswith(expected)
        assert process.returncode == bool(expected), process.stderr
