"""ELMoForManyLangs: the original's outputs, and the NumPy reference on models of other shapes."""

import json

import numpy as np
import pytest
from manylangs_models import SENTENCES, architecture, write_model

from keras_elmo import Elmo


@pytest.fixture(scope="module", params=["legacy", "zip"])
def original(request, shared):
    """A model in one of the two formats, its sentences, and every layer of each."""
    folder = shared / "fixtures/elmoformanylangs" / request.param
    outputs = np.load(folder / "ref.npz")
    sentences = json.loads((folder / "sents.json").read_text("utf-8"))
    expected = [outputs[str(number)] for number in range(len(sentences))]
    return Elmo.from_pretrained(folder), sentences, expected


def test_every_layer_of_embed(original):
    elmo, sentences, expected = original
    for layers, other in zip(elmo.embed(sentences, layers="all"), expected, strict=True):
        np.testing.assert_allclose(layers, other, atol=1e-6)


def check(elmo, sentences, expected):
    outputs = elmo(sentences)
    for row, layers in enumerate(expected):
        count, dim = layers.shape[1], elmo.config.projection_dim
        assert outputs["sequence_len"][row] == count
        np.testing.assert_allclose(outputs["word_emb"][row, :count], layers[0][:, :dim], atol=1e-6)
        for k in range(1, len(layers)):
            lstm = outputs[f"lstm_outputs{k}"][row, :count]
            np.testing.assert_allclose(lstm, layers[k], atol=1e-6)
        np.testing.assert_allclose(outputs["elmo"][row, :count], layers.mean(0), atol=1e-6)


def test_every_layer_of_a_call(original):
    elmo, sentences, expected = original
    check(elmo, sentences, expected)
    for sentence, layers in zip(sentences, expected, strict=True):  # alone
        check(elmo, [sentence], [layers])


def test_output_layers_of_the_original(original):
    """`sents2elmo(output_layer=-1)` is "average", and -2 is "all"."""
    elmo, sentences, expected = original
    for vectors, layers in zip(elmo.embed(sentences, layers="average"), expected, strict=True):
        np.testing.assert_allclose(vectors, layers.mean(0), atol=1e-6)


SHAPES = {
    "tanh": architecture(token_embedder={"activation": "tanh"}),
    "one highway layer": architecture(token_embedder={"n_highway": 1}),
    "no highway layer": architecture(token_embedder={"n_highway": 0}),
    "no words": architecture(token_embedder={"word_dim": 0}),
    "other filters": architecture(
        token_embedder={"filters": [[2, 5], [7, 3]], "max_characters_per_token": 7}
    ),
    "sizes that need no projection": architecture(
        {"dim": 6}, {"word_dim": 0, "filters": [[1, 2], [3, 4]]}
    ),
    "a projection to more": architecture({"dim": 4, "projection_dim": 9}),
    "one LSTM layer": architecture({"n_layers": 1}),
    "three LSTM layers": architecture({"n_layers": 3}),
    "small clips": architecture({"cell_clip": 0.2, "proj_clip": 0.1}),
    "no clips": architecture({"cell_clip": None, "proj_clip": 0}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_models_of_other_shapes(name, tmp_path):
    reference = write_model(tmp_path, SHAPES[name], form="zip" if name == "tanh" else "legacy")
    elmo = Elmo.from_pretrained(tmp_path)
    for layers, words in zip(elmo.embed(SENTENCES, layers="all"), SENTENCES, strict=True):
        np.testing.assert_allclose(layers, reference.sentence(words), atol=5e-6)
