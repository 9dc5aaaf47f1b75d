import argparse
import os

import keras
import pytest

from keras_elmo import Elmo, ElmoEmbedding, SpaceTokenizer, Tagger, TextClassifier
from keras_elmo_cli.inputs import layer_numbers, load_any_model, model_source


def test_numbers_of_layers(small_config):
    assert layer_numbers(None, small_config) == [1, 2]
    assert layer_numbers("-1, 0,2", small_config) == [2, 0]
    for typed in ("3", "top", "0,"):
        with pytest.raises(ValueError, match="layers"):
            layer_numbers(typed, small_config)


def test_a_comma_parts_two_files(folder):
    os.mkdir("a,b")
    for name in ("small", "a,b", "https://host/a,b.zip"):
        assert model_source(name) == name
    for pair in (("a.json", "b.hdf5"), ("https://host/o.json", "https://host/w.hdf5")):
        assert model_source(",".join(pair)) == pair


def test_models_of_keras_files(tmp_path, one_layer_folder):
    """Also one that is not of this package, if any class is allowed."""
    inputs = keras.Input((), dtype="string")
    functional = keras.Model(inputs, ElmoEmbedding(str(one_layer_folder))(inputs))
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    options = argparse.Namespace(model=str(tmp_path / "a.keras"))
    for model in (functional, other):
        model.save(options.model)
        assert type(load_any_model(options)) is type(model)
    with pytest.raises(ValueError, match="a model of Keras, `tokenizer` must not be given"):
        load_any_model(argparse.Namespace(model=options.model, tokenizer="space"))
    TextClassifier(str(one_layer_folder), ["a", "b"]).save(tmp_path / "task.keras")
    options.model, options.tokenizer = str(tmp_path / "task.keras"), "space"
    assert isinstance(load_any_model(options).elmo.tokenizer, SpaceTokenizer)
    options = argparse.Namespace(model=str(tmp_path / "a.keras"))
    message = "a.keras must hold .* class Elmo or Tagger. Received: a Sequential"
    with pytest.raises(ValueError, match=message):
        load_any_model(options, (Elmo, Tagger))
