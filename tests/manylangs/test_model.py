"""The files of ELMoForManyLangs: what is recognised, and every fault in them."""

import json
import os
import pickle
import shutil

import numpy as np
import pytest
from manylangs.test_torch_file import Evil
from manylangs.torch_files import Tensor, legacy_bytes
from manylangs_models import ARCHITECTURE, WORDS, architecture, random_weights, write_model

from keras_elmo import Elmo, ElmoConfig
from keras_elmo.sources.models import find


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manylangs") / "model"
    write_model(folder)
    return folder


@pytest.fixture
def folder(model_folder, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(model_folder, tmp_path / "144")


@pytest.fixture(scope="module")
def elmo(model_folder):
    return Elmo.from_pretrained(model_folder)


def make_zip(folder, path):
    return shutil.make_archive(path, "zip", folder)


def config_of(source):
    return find(source).open()[0]


def refused(source, message):
    with pytest.raises(ValueError, match=message) as caught:
        Elmo.from_pretrained(source)
    return str(caught.value)


# What is recognised


def test_the_config_says_all(model_folder):
    config, weights = find(model_folder).open()
    files = [str(model_folder / name) for name in ("token_embedder.pkl", "encoder.pkl")]
    assert list(weights.files) == files
    assert (config.units, config.projection_dim, config.max_characters) == (10, 6, 9)
    assert (config.character_dim, config.word_dim) == (3, 4)
    assert (config.cell_clip, config.projection_clip) == (3.0, 3.0)
    assert config.use_skip_connections and config.dictionary.words == tuple(WORDS)


def test_a_zip_and_other_weights_are_the_same_as_a_folder(model_folder, tmp_path, elmo):
    for prefix in ("", "144", "a/b"):
        root = tmp_path / f"root{len(prefix)}"
        shutil.copytree(model_folder, root / prefix)
        path = make_zip(root, tmp_path / "144")
        assert config_of(path) == elmo.config
    again, other = Elmo.from_pretrained(path), Elmo(elmo.config)
    other.load_weights(model_folder)
    for model in (again, other):
        assert all(map(np.array_equal, model.get_weights(), elmo.get_weights()))


def test_the_architecture_may_be_in_a_folder_of_its_own(folder, tmp_path, elmo):
    for path in ("C:\\models\\shape.json", "shape.json", "x/../shape.json"):  # its last part counts
        (folder / "config.json").write_text(json.dumps({"config_path": path}))
        assert config_of(folder) == elmo.config
    before = folder / "shape.json"
    for place in ("configs/shape.json", "../configs/shape.json"):
        os.makedirs(os.path.dirname(folder / place), exist_ok=True)
        before = before.rename(folder / place)
        assert config_of(folder) == elmo.config
        whole = make_zip(tmp_path, tmp_path.parent / tmp_path.name)
        assert config_of(whole) == elmo.config


def test_the_published_models_lack_their_architecture(folder):
    name = "cnn_50_100_512_4096_sample.json"
    (folder / "config.json").write_text(json.dumps({"config_path": f"/Users/someone/{name}"}))
    config = config_of(folder)
    assert config == ElmoConfig(dictionary=config.dictionary, character_dim=50, word_dim=100)
    shutil.move(folder / "shape.json", folder / name)  # its own comes first
    assert config_of(folder).units == 10


def test_what_was_saved_beside_it_comes_first(folder, elmo):
    elmo.save_pretrained(folder)
    _, weights = find(folder).open()
    assert weights.shown == str(folder / "weights.hdf5")


# Faults


def test_a_missing_file_is_named(folder, tmp_path):
    for name in ("config.json", "char.dic", "encoder.pkl", "word.dic"):
        (folder / name).rename(tmp_path / name)
        for source in (folder, make_zip(folder, tmp_path / "model")):
            assert name in refused(source, "Received: no |there is no word.dic")
        (tmp_path / name).rename(folder / name)


def test_a_config_without_architecture(folder):
    for config, message in [
        ({}, "config_path=None, and no such file"),
        ({"config_path": "/etc/.."}, "config_path='/etc/..', and no such file"),
        ({"config_path": 7}, "config_path=7"),
        ([], "hold a JSON object. Received: list"),
    ]:
        (folder / "config.json").write_text(json.dumps(config))
        assert "\n" not in refused(folder, rf"config.json must.* {message}")


def test_every_fault_of_an_architecture_is_named(folder):
    shape = architecture({"name": "lstm"}, {"name": "lstm", "char_dim": 0})
    del shape["encoder"]["n_layers"], shape["token_embedder"]["filters"]
    for content, faults in [
        (shape, ["encoder.name", "n_layers", "token_embedder.name", "filters", "char_dim"]),
        ({}, ["encoder", "token_embedder"]),
        (architecture({"dim": -1}, {"n_highway": "2"}), ["units=-1", "num_highway='2'"]),
    ]:
        (folder / "shape.json").write_text(json.dumps(content))
        lines = refused(folder, "cannot be read").splitlines()[1:]
        assert len(lines) == len(faults)
        assert all(fault in line for fault, line in zip(faults, lines, strict=True))


def test_a_dictionary_that_cannot_be_used(folder):
    (folder / "char.dic").write_text("a\t0\n")
    refused(folder, "`characters` must hold <bos>, .*Received: none of <bos>")


def test_files_too_large_or_too_small_take_no_memory(folder, tmp_path):
    (folder / "shape.json").write_text(json.dumps(architecture({"dim": 10**6})))
    for source in (folder, make_zip(folder, tmp_path / "model")):
        refused(source, "must hold the weights of its options, [0-9,]{11,} bytes")
    (folder / "encoder.pkl").write_bytes(bytes(2**26 + 1))
    source = make_zip(folder, tmp_path / "zeros")
    refused(source, "must be compressed at most 100 times.* more than 67,108,864 bytes")


def test_every_fault_of_the_weights_is_named_and_nothing_changes(folder, elmo):
    words, lstm = random_weights(ARCHITECTURE, seed=1)
    del words["projection.bias"]
    words["convolutions.0.bias"] = np.zeros(9, "f4")
    words["highways._layers.0.weight"][3, 2] = np.nan
    words["forward_layer_0.state_linearity.bias"] = np.zeros(3, "f4")
    lstm["backward_layer_1.state_projection.weight"] = np.zeros((10, 6), "f4")
    (folder / "token_embedder.pkl").write_bytes(legacy_bytes(words))
    (folder / "encoder.pkl").write_bytes(legacy_bytes(lstm))
    other = Elmo(elmo.config)
    before = other.get_weights()
    with pytest.raises(ValueError) as caught:
        other.load_weights(folder)
    head, *faults = str(caught.value).splitlines()
    assert head.startswith(f"{folder} does not hold the weights of this model")
    assert sorted(fault.strip().split(",")[0] for fault in faults) == [
        "missing: token_embedder.pkl/projection.bias",
        "not used: token_embedder.pkl/forward_layer_0.state_linearity.bias",
        "shape: encoder.pkl/backward_layer_1.state_projection.weight",
        "shape: token_embedder.pkl/convolutions.0.bias",
        "values: token_embedder.pkl/highways._layers.0.weight holds NaN or infinity",
    ]
    assert all(map(np.array_equal, other.get_weights(), before))


@pytest.mark.parametrize("name", ["encoder.pkl", "token_embedder.pkl"])
def test_hostile_weights_are_refused_with_one_line(folder, tmp_path, name):
    trap = tmp_path / "trap"
    large = {"x": Tensor("0", np.zeros(2, "f4"), count=1 << 58)}
    whole = (folder / name).read_bytes()
    for data, fault in [
        (pickle.dumps(Evil(trap)), r"'posix\.mkdir', which no state dict has"),
        (legacy_bytes({}, large, {"0": np.zeros(2, "f4")}), "a storage of 1,152,921,504"),
        (whole[:-9], "cut short"),
        (b"\x89HDF\r\n\x1a\n", "of another kind"),
    ]:
        (folder / name).write_bytes(data)
        assert "\n" not in refused(folder, rf"{name} must be a whole state dict.*{fault}")
    assert not trap.exists()
