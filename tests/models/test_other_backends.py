"""`Elmo` on Keras's JAX and PyTorch backends gives the numbers of the TensorFlow one."""

import dataclasses
import shutil

import keras
import numpy as np
import pytest
from manylangs_models import CHARACTERS, WORDS
from models.backend_cases import outputs
from scripts import run_python

from keras_elmo import Elmo
from keras_elmo.characters import Dictionary

# TensorFlow cannot be imported there.
CHILD = """
import runpy, sys
sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None
runpy.run_module("models.backend_cases", run_name="__main__", alter_sys=True)
"""
OTHER = {"num_layers": 1, "num_highway": 0, "activation": "tanh", "max_characters": 12}
OTHER |= {"projection_clip": 0.2}
WORDS_TOO = {"num_layers": 1, "dictionary": Dictionary(CHARACTERS, WORDS), "word_dim": 5}
MIXES = {"num_mixes": 2, "do_layer_norm": True}
# By name: changes of the config, and arguments.
MODELS = {
    "boundaries": ({"cell_clip": None}, {"keep_sentence_boundaries": True, "tokenizer": "web"}),
    "mixes": (OTHER, {**MIXES, "max_tokens": 30, "tokenizer": "characters"}),
    "dictionary": (WORDS_TOO, {"max_tokens": 9, "tokenizer": None}),
}


@pytest.mark.parametrize("backend", ["jax", pytest.param("torch", marks=pytest.mark.slow)])
@pytest.mark.usefixtures("untraced")
def test_numbers_files_training_and_errors(backend, small_config, one_layer_folder, tmp_path):
    pytest.importorskip(backend)
    models = {"folder": Elmo.from_pretrained(one_layer_folder, tokenizer="treebank")}
    shutil.copytree(one_layer_folder, tmp_path / "folder")
    initializer = keras.initializers.RandomNormal(stddev=0.3)
    for name, (changes, arguments) in MODELS.items():
        config = dataclasses.replace(small_config, **changes)
        models[name] = Elmo(config, kernel_initializer=initializer, **arguments)
        for mix in models[name].mixes:
            mix.scalars.assign(np.random.normal(size=mix.scalars.shape))
            mix.gamma.assign(1.3)
        models[name].save(tmp_path / f"{name}.keras")
    env = {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    result = run_python("-c", CHILD, *MODELS, env=env, cwd=tmp_path, timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    for name, model in models.items():
        expected, found = outputs(model), np.load(tmp_path / f"{name}.npz")
        assert expected.keys() - {"call tokens"} == set(found), name
        for key in found:
            message = f"{name}: {key}"
            assert found[key].dtype == expected[key].dtype, message
            if found[key].dtype.kind == "f":
                np.testing.assert_allclose(found[key], expected[key], atol=1e-5, err_msg=message)
            else:
                np.testing.assert_array_equal(found[key], expected[key], message)
    # TensorFlow reads what the other backend wrote.
    weights = models["folder"].get_weights()
    loaded = keras.models.load_model(tmp_path / "copy.keras")
    for copy in (loaded, Elmo.from_pretrained(tmp_path / "copy")):
        assert all(map(np.array_equal, copy.get_weights(), weights))
