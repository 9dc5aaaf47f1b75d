"""Modules of TensorFlow Hub, as `google/elmo/3` is one, and the saves of DeepPavlov."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from checkpoints import save_tensors
from weights.parts import WORDS

from keras_elmo import BiLanguageModel, Elmo, ElmoConfig
from keras_elmo.weights.layout import weight_table


def write_module(folder, model, has_padding=True, has_mix=True, **changes):
    """The variables of `google/elmo/3`, by the names that tensorflow/hub#88 shows."""
    tensors = {"bilm/Variable_3": np.zeros((2, 3), np.float32), "bilm/Variable": np.ones(1)}
    for entry in weight_table(model.character_encoder, model.bilm):
        values = np.concatenate([v.numpy() for v, *_ in entry.pieces]).reshape(entry.shape)
        if entry.name == "char_embed" and has_padding:
            values = np.concatenate([np.zeros_like(values[:1]), values])
        name = entry.name
        for part, new in (("W_P_0", "projection/kernel"), ("W_0", "kernel"), ("B", "bias")):
            name = name.replace(f"LSTMCell/{part}", f"rnn/lstm_cell/{new}")
        tensors[f"bilm/{name}"] = values
    if has_mix:
        tensors["aggregation/weights"] = np.array([0.5, -1, 2], np.float32)
        tensors["aggregation/scaling"] = np.float32(1.5)
    (folder / "variables").mkdir(parents=True)
    save_tensors(str(folder / "variables/variables"), {**tensors, **changes})
    for name in ("saved_model.pb", "tfhub_module.pb"):
        (folder / name).write_bytes(b"")
    return folder


@pytest.fixture(scope="module")
def model():
    sizes = {"filters": [(1, 4), (3, 5)], "num_highway": 2, "character_dim": 4}
    return Elmo(ElmoConfig(10, 6, cell_clip=3.0, projection_clip=3.0, **sizes))


def assert_same(one, other):
    for part in ("character_encoder", "bilm"):
        weights = (getattr(model, part).get_weights() for model in (one, other))
        assert all(map(np.array_equal, *weights))


@pytest.mark.parametrize("has_padding", [True, False])
def test_a_modules_weights_and_mix(model, tmp_path, has_padding, untraced):
    folder = write_module(tmp_path / "elmo", model, has_padding)
    loaded = Elmo.from_pretrained(folder, num_mixes=2)
    assert loaded.config == model.config
    assert_same(loaded, model)
    for mix in loaded.mixes:
        np.testing.assert_array_equal(mix.scalars.numpy(), [0.5, -1, 2])
        assert mix.gamma.numpy() == 1.5
    layers = loaded.embed(["a b"], layers="all")[0]
    expected = 1.5 * np.tensordot(np.exp([0.5, -1, 2]) / np.exp([0.5, -1, 2]).sum(), layers, 1)
    np.testing.assert_allclose(loaded.embed(["a b"])[0], expected, atol=1e-6)
    assert_same(BiLanguageModel.from_pretrained(folder, WORDS), model)


@pytest.mark.parametrize(
    "changes",
    [{"num_layers": 1, "num_highway": 0}, {"num_layers": 3, "filters": ((2, 3),), "units": 6}],
)
def test_the_shapes_say_the_sizes(model, tmp_path, changes):
    other = Elmo(dataclasses.replace(model.config, **changes))
    loaded = Elmo.from_pretrained(write_module(tmp_path / "elmo", other, has_mix=False))
    assert loaded.config == other.config
    assert_same(loaded, other)
    assert loaded.mixes[0].gamma.numpy() == 1


@pytest.mark.parametrize(
    "changes, fault",
    [
        ({"bilm/CNN/b_cnn_1": None}, "missing: CNN/b_cnn_1"),
        ({"aggregation/weights": np.zeros(2, np.float32)}, r"shape: mix/weights, expected \(3,\)"),
        ({"bilm/RNN_0/RNN/MultiRNNCell/Cell0/rnn/lstm_cell/kernel": None}, "must hold the var"),
        ({"bilm/char_embed": None}, "must hold options.json"),
    ],
)
def test_faults_of_a_module(model, tmp_path, changes, fault):
    folder = write_module(tmp_path / "elmo", model, **changes)
    with pytest.raises(ValueError, match=fault):
        Elmo.from_pretrained(folder)


def test_saves_of_deeppavlov(model, tmp_path):
    other = Elmo(model.config)
    for epoch, each in (("9", other), ("12", model)):
        folder = write_module(tmp_path / "saves/epochs" / epoch, each)
        for file in (folder / "variables").iterdir():
            file.rename(folder / file.name.replace("variables", "model", 1))
        tf.compat.v1.train.update_checkpoint_state(str(folder), str(folder / "model"))
    (tmp_path / "options.json").write_text(json.dumps(model.config.to_options()))
    assert_same(Elmo.from_pretrained(tmp_path), model)
    pair = tmp_path / "options.json", tmp_path / "saves/epochs/9"
    assert_same(Elmo.from_pretrained(pair), other)
