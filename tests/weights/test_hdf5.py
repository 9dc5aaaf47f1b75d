import dataclasses
import io
import os
import random
import re
import types

import h5py
import numpy as np
import pytest
from files import datasets
from scripts import load_script
from weights.parts import TINY, Parts, assert_same, assert_same_files

from keras_elmo import ElmoConfig
from keras_elmo.weights import hdf5
from keras_elmo.weights.hdf5 import create_hdf5


def test_a_compressed_file_is_read_into_variables_without_a_copy(parts, file, new):
    with h5py.File(file, "r+") as target:
        array = target["char_embed"][()]
        del target["char_embed"]
        target.create_dataset("char_embed", data=array, compression="gzip", chunks=(10, 3))
    parts.load(file)
    assert_same(parts.arrays(), new)
    # TensorFlow copies a variable at each reading once a slice of it was assigned to.
    for variable in parts.variables:
        one, two = (variable.value.read_value() for _ in range(2))
        assert np.shares_memory(memoryview(one), memoryview(two)), variable.path


# There and back


@pytest.mark.parametrize(
    "changes",
    [
        {"units": 4, "filters": [(1, 4)], "num_highway": 0},  # without projections
        {"projection_dim": 1, "num_layers": 3, "num_highway": 2},
    ],
)
def test_load_gives_back_what_save_wrote(tmp_path, changes):
    parts = Parts(dataclasses.replace(TINY, **changes), seed=1)
    saved = parts.arrays()
    parts.save(tmp_path / "weights.hdf5")
    parts.randomize(seed=2)
    parts.load(tmp_path / "weights.hdf5")
    assert_same(parts.arrays(), saved)


@pytest.mark.parametrize("name", ["bilm-tf/model/lm_weights", "allennlp/lm_weights"])
def test_files_of_the_originals_come_back_bit_for_bit(shared, tmp_path, name):
    file = shared / f"fixtures/{name}.hdf5"
    parts = Parts(ElmoConfig.from_options(file.with_name("options.json")))
    parts.load(file)
    parts.save(tmp_path / "again.hdf5")
    assert_same_files(file, tmp_path / "again.hdf5")


# Faults


def test_faults_of_a_file_are_named_and_nothing_changes(file, parts):
    before = parts.arrays()
    with h5py.File(file, "r+") as target:
        del target["char_embed"], target["CNN/b_cnn_0"]
        target["char_embed/inner"] = np.zeros(3)  # a group in the place of the dataset
        target["CNN/b_cnn_0"] = h5py.Empty("f4")
        target[b"\xff\xfe"] = np.zeros(3)  # a name that is not UTF-8
    with pytest.raises(ValueError, match=f"^{re.escape(str(file))} does not hold") as caught:
        parts.load(file)
    for fault in (
        "missing: char_embed, expected shape (261, 3)",
        "not used: char_embed/inner, shape (3,)",
        "shape: CNN/b_cnn_0, expected (2,), in the file None",
        r"not used: \udcff\udcfe, shape (3,)",
    ):
        assert fault in str(caught.value)
    assert_same(parts.arrays(), before)


@pytest.mark.parametrize("keep", [0, 100, 0.5, -1, b"PK\x03\x04 a zip"])
def test_cut_file_and_other_kind_of_file_are_refused(file, parts, keep):
    before, whole = parts.arrays(), file.read_bytes()
    if isinstance(keep, float):
        keep = int(len(whole) * keep)
    file.write_bytes(keep if isinstance(keep, bytes) else whole[:keep])
    with pytest.raises(ValueError, match=f"{re.escape(str(file))} must be a whole HDF5 file"):
        parts.load(file)
    assert_same(parts.arrays(), before)


def test_missing_files_and_folders_are_refused(tmp_path, parts):
    for act, path in [
        (parts.load, tmp_path / "nothing.hdf5"),
        (parts.load, tmp_path),
        (parts.save, tmp_path / "nowhere/new.hdf5"),
    ]:
        with pytest.raises(OSError, match=re.escape(str(path))):
            act(path)


@pytest.fixture
def packed(tmp_path, file):
    """The file packed as the model in the package is, with checksums."""
    (tmp_path / "options.json").write_text("{}")
    load_script("saved_models/tiny/package.py").pack(tmp_path, tmp_path / "packed")
    return tmp_path / "packed" / "weights.hdf5"


def test_damaged_dataset_of_a_packed_file_is_named(packed, parts):
    whole, before = packed.read_bytes(), parts.arrays()
    with h5py.File(packed) as opened:
        chunks = {name: opened[name].id.get_chunk_info(0) for name in datasets(packed)}
    for name, chunk in chunks.items():
        damaged = bytearray(whole)
        damaged[chunk.byte_offset + chunk.size // 2] ^= 1
        packed.write_bytes(damaged)
        with pytest.raises(ValueError, match=f"damaged: {name}; copy or download the file again"):
            parts.load(packed)
    assert_same(parts.arrays(), before)


def test_no_flipped_bits_of_a_packed_file_give_other_numbers(packed, parts, new):
    parts.load(packed)
    expected = parts.arrays()
    for array, whole in zip(expected, new, strict=True):
        np.testing.assert_allclose(array, whole, rtol=0, atol=6e-5)  # they are rounded
    whole, generator, refused = packed.read_bytes(), random.Random(0), 0
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(generator.choice([1, 1, 1, 3, 10])):
            damaged[generator.randrange(len(whole))] ^= 1 << generator.randrange(8)
        packed.write_bytes(damaged)
        try:
            parts.load(packed)
        except ValueError as error:
            refused += 1
            assert str(packed) in str(error)
        assert_same(parts.arrays(), expected)
    assert refused > 40


# Writing


def test_an_interrupted_save_leaves_the_old_file(file, parts, monkeypatch):
    old, create = file.read_bytes(), h5py.File.create_dataset

    def interrupted(self, name, *args):
        if name == "CNN/b_cnn_1":
            raise KeyboardInterrupt
        return create(self, name, *args)

    monkeypatch.setattr(h5py.File, "create_dataset", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parts.save(file)
    assert file.read_bytes() == old and os.listdir(file.parent) == [file.name]


def test_a_partial_write_is_completed(tmp_path, monkeypatch):
    class Halves:
        def write(self, data):
            return io.FileIO.write(self, bytes(data)[: max(1, len(data) // 2)])

    monkeypatch.setattr(hdf5, "io", types.SimpleNamespace(FileIO=Halves))
    with hdf5._Target(tmp_path / "file") as target:
        assert target.write(b"x" * 1000) == 1000
    assert (tmp_path / "file").read_bytes() == b"x" * 1000


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_ends_it_at_the_next_dataset():
    """(tests/cli/test_full_disk.py has the message, and the end of what still fits.)"""
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        with create_hdf5("/dev/full") as file:
            for k in range(10):
                file.create_dataset(str(k), data=np.zeros(1000))
            pytest.fail("it went on")
