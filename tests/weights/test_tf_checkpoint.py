"""Checkpoints of the original trainer: one that it wrote (shared), and ones made here."""

import dataclasses

import numpy as np
import pytest
from checkpoints import write_checkpoint
from weights.parts import WORDS

from keras_elmo import BiLanguageModel, Elmo
from keras_elmo.weights import tf_checkpoint


@pytest.fixture(scope="module")
def model(small_config):
    return BiLanguageModel(small_config, WORDS)


@pytest.mark.parametrize("num_layers", [1, 2])
def test_every_variable_comes_from_the_checkpoint(small_config, num_layers, tmp_path):
    model = BiLanguageModel(dataclasses.replace(small_config, num_layers=num_layers), WORDS)
    write_checkpoint(tmp_path / "c", model)
    loaded = BiLanguageModel.from_pretrained(tmp_path / "c", WORDS)
    loaded.has_softmax = False
    loaded.load_weights(tmp_path / "c/model.ckpt-7")
    assert loaded.has_softmax
    assert all(map(np.array_equal, loaded.get_weights(), model.get_weights()))
    with pytest.raises(FileNotFoundError, match="model.ckpt-8"):
        loaded.load_weights(tmp_path / "c/model.ckpt-8")


def test_faults_are_named(model, tmp_path):
    changes = {"lm/char_embed": None, "lm/softmax/b": np.zeros(3, np.float32)}
    changes["lm/CNN/b_cnn_0"] = np.full(4, np.nan, np.float32)
    write_checkpoint(tmp_path / "c", model, **changes)
    with pytest.raises(ValueError) as error:
        model.load_weights(tmp_path / "c")
    for fault in ("missing: char_embed", "shape: softmax/b", "values: CNN/b_cnn_0", "ckpt-7"):
        assert fault in str(error.value)


def test_a_checkpoint_without_softmax(model, tmp_path):
    write_checkpoint(tmp_path / "c", model, **dict.fromkeys(["lm/softmax/W", "lm/softmax/b"]))
    with pytest.warns(UserWarning, match="holds no softmax"):
        loaded = BiLanguageModel.from_pretrained(tmp_path / "c", WORDS)
    assert not loaded.has_softmax


def test_a_checkpoint_that_was_moved(model, tmp_path):
    write_checkpoint(tmp_path / "c", model).rename(tmp_path / "moved")
    state = (tmp_path / "moved/checkpoint").read_text()
    (tmp_path / "moved/checkpoint").write_text(state.replace('"model', f'"{tmp_path}/c/model'))
    loaded = BiLanguageModel.from_pretrained(tmp_path / "moved", WORDS)
    assert all(map(np.array_equal, loaded.get_weights(), model.get_weights()))


def test_what_is_not_a_checkpoint(tmp_path, model):
    assert tf_checkpoint.find_weights(tmp_path) is None
    folder = write_checkpoint(tmp_path / "c", model)
    (folder / "model.ckpt-7.index").write_bytes(b"no")
    with pytest.raises(ValueError, match="must be a whole TensorFlow checkpoint"):
        model.load_weights(folder)
    (folder / "checkpoint").write_bytes(b"model_checkpoint_path: \xff")
    with pytest.raises(ValueError, match="c/checkpoint must be a text that TensorFlow wrote"):
        model.load_weights(folder)


def test_a_checkpoint_that_is_cut_short(tmp_path, model):
    folder = write_checkpoint(tmp_path / "c", model)
    path = folder / "model.ckpt-7.data-00000-of-00001"
    content = path.read_bytes()
    for share in (0, 0.01, 0.5, 0.9):
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(ValueError, match="model.ckpt-7"):
            Elmo.from_pretrained(folder)
