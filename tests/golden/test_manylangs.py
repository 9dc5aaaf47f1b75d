"""ELMoForManyLangs: the original's outputs, and the NumPy reference on models of other shapes."""

import json

import numpy as np
import pytest
import tensorflow as tf
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
    """`sents2elmo(output_layer=-2)` of the original is "all", and -1 is "average"."""
    elmo, sentences, expected = original
    vectors = elmo.embed(sentences, layers=["all", "average"])
    for result, layers in zip(vectors, expected, strict=True):
        np.testing.assert_allclose(result["all"], layers, atol=1e-6)
        np.testing.assert_allclose(result["average"], layers.mean(0), atol=1e-6)


def test_every_layer_of_a_call(original):
    elmo, sentences, expected = original
    outputs = elmo(sentences)
    for row, layers in enumerate(expected):
        count, dim = layers.shape[1], elmo.config.projection_dim
        assert outputs["sequence_len"][row] == count
        np.testing.assert_allclose(outputs["word_emb"][row, :count], layers[0][:, :dim], atol=1e-6)
        for k in range(1, len(layers)):
            lstm = outputs[f"lstm_outputs{k}"][row, :count]
            np.testing.assert_allclose(lstm, layers[k], atol=1e-6)
        np.testing.assert_allclose(outputs["elmo"][row, :count], layers.mean(0), atol=1e-6)


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
def test_models_of_other_shapes(name, tmp_path, untraced):
    reference = write_model(tmp_path, SHAPES[name], form="zip" if name == "tanh" else "legacy")
    elmo = Elmo.from_pretrained(tmp_path)
    ids = elmo.batch_to_ids(SENTENCES)
    boundaries = elmo.character_encoder(tf.constant(elmo.token_encoder.scheme.boundaries))
    layers, _ = elmo.bilm(
        elmo.character_encoder(ids),
        mask=elmo.character_encoder.compute_mask(ids),
        boundaries=tf.unstack(boundaries),
    )
    for row, words in enumerate(SENTENCES):
        for layer, other in zip(layers, reference.sentence(words), strict=True):
            np.testing.assert_allclose(layer[row, : len(words)], other, atol=5e-6)
