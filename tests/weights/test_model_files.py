import dataclasses
import json
import shutil

import numpy as np
import pytest
from weights.parts import TINY, assert_same

from keras_elmo import Elmo, ElmoConfig
from keras_elmo.weights import model_files, tf_checkpoint


def save(folder, parts):
    model_files.save_folder(folder, TINY, parts.character_encoder, parts.bilm)


def test_a_saved_folder_holds_options_and_weights(tmp_path, parts):
    folder = tmp_path / "model"
    save(folder, parts)
    assert {path.name for path in folder.iterdir()} == {"options.json", "weights.hdf5"}
    parts.randomize(seed=6)
    (folder / "notes.txt").write_text("mine")
    save(folder, parts)  # replaces both files, and keeps others
    assert (folder / "notes.txt").read_text() == "mine"
    assert json.loads((folder / "options.json").read_text("utf-8")) == TINY.to_options()
    assert ElmoConfig.from_options(folder / "options.json") == TINY
    expected = parts.arrays()
    parts.randomize(seed=5)
    model_files.load_file(
        folder / "weights.hdf5", character_encoder=parts.character_encoder, bilm=parts.bilm
    )
    assert_same(parts.arrays(), expected)


def test_a_failed_save_makes_no_folder(tmp_path, parts, monkeypatch):
    def fail(*args):
        raise OSError("no space")

    monkeypatch.setattr(model_files.hdf5, "write_weights", fail)
    with pytest.raises(OSError, match="no space"):
        save(tmp_path / "model", parts)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_not_read_as_a_weight_file(tmp_path, parts, monkeypatch):
    (tmp_path / "model.ckpt-7.index").write_bytes(b"")
    paths = []
    monkeypatch.setattr(tf_checkpoint, "load_weights", lambda path, **parts: paths.append(path))
    model_files.load_file(tmp_path / "model.ckpt-7", bilm=parts.bilm)
    assert paths == [tmp_path / "model.ckpt-7"]
    with pytest.raises(FileNotFoundError, match="model.ckpt-8"):
        model_files.load_file(tmp_path / "model.ckpt-8", bilm=parts.bilm)


@pytest.mark.parametrize("form", ["hdf5", "checkpoint", "pair", "zip"])
def test_files_too_small_for_their_options_are_refused_before_a_model_is_made(
    tmp_path, parts, form, monkeypatch
):
    save(tmp_path, parts)
    options = dataclasses.replace(TINY, units=10**6).to_options()  # of 400 MB
    (tmp_path / "options.json").write_text(json.dumps(options))
    source = tmp_path
    if form == "pair":
        source = options, tmp_path / "weights.hdf5"
    elif form == "checkpoint":
        for name in ("model.ckpt-7.index", "model.ckpt-7.data-00000-of-00001"):
            (tmp_path / name).write_bytes(bytes(100))
        (tmp_path / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-7"')
    elif form == "zip":
        source = shutil.make_archive(tmp_path / "model", "zip", tmp_path)
    monkeypatch.setattr(Elmo, "__init__", lambda *_, **__: pytest.fail("a model was made"))
    with pytest.raises(ValueError, match="must hold the weights of its options, [0-9,]{11,} bytes"):
        Elmo.from_pretrained(source)


def test_a_file_of_keras_is_known_by_its_name(tmp_path):
    for path in ("a.weights.h5", tmp_path / "a.weights.h5"):
        assert model_files.is_keras_file(path)
    for path in ("weights.h5", tmp_path / "a.weights.h5/weights.hdf5", np.zeros(1), None):
        assert not model_files.is_keras_file(path)
