"""The originals' own models and outputs."""

import json

import h5py
import numpy as np
import pytest

from keras_elmo import Elmo

MODELS = {
    "bilm-tf": ("bilm-tf/model/options.json", "bilm-tf/model/lm_weights.hdf5"),
    "allennlp": ("allennlp/options.json", "allennlp/lm_weights.hdf5"),
    "small": ("reference/small/options.json", "reference/small/weights.hdf5"),
}
OUTPUTS = {"small": "reference/small/reference.npz"}


def load(shared, name, **kwargs):
    options, weights = (shared / "fixtures" / path for path in MODELS[name])
    return Elmo.from_pretrained((options, weights), **kwargs)


@pytest.fixture(scope="module", params=MODELS)
def reference(request, shared):
    folder = shared / "fixtures"
    outputs = np.load(folder / OUTPUTS.get(request.param, f"reference/{request.param}.npz"))
    lines = (folder / "reference/sentences.txt").read_text(encoding="utf-8").split("\n")
    sentences = [line.split(" ") for line in lines if line]
    assert len(sentences) == 21
    return load(shared, request.param), sentences, outputs


def test_every_layer_of_a_call(reference):
    elmo, sentences, expected = reference
    outputs = elmo(sentences)
    for k, words in enumerate(sentences):
        layers, tokens = expected[f"layers_{k}"], expected[f"token_{k}"][1:-1]
        count = len(words)
        np.testing.assert_allclose(outputs["word_emb"][k, :count], tokens, atol=1e-5)
        np.testing.assert_allclose(outputs["lstm_outputs1"][k, :count], layers[1], atol=1e-5)
        np.testing.assert_allclose(outputs["lstm_outputs2"][k, :count], layers[2], atol=1e-5)
        np.testing.assert_allclose(outputs["elmo"][k, :count], layers.mean(0), atol=1e-5)
        np.testing.assert_allclose(outputs["default"][k], layers.mean((0, 1)), atol=1e-5)


def test_every_layer_of_embed(reference):
    elmo, sentences, expected = reference
    for k, layers in enumerate(elmo.embed(sentences, layers="all")):
        np.testing.assert_allclose(layers, expected[f"layers_{k}"], atol=1e-5)


def test_token_embeddings_with_both_boundaries(reference):
    elmo, sentences, expected = reference
    embeddings = elmo.token_encoder.from_many_words([b"one"])
    np.testing.assert_allclose(embeddings[0], expected["token_0"][0], atol=1e-5)
    np.testing.assert_allclose(embeddings[1], expected["token_0"][-1], atol=1e-5)


@pytest.mark.parametrize(
    "name, text", [("bilm-tf", "bilm-tf/model/lm_embeddings_sentences.json"), ("allennlp", None)]
)
def test_their_embeddings_with_the_state_carried(shared, name, text):
    folder = shared / "fixtures"
    elmo = load(shared, name, stateful=True)
    columns = json.loads((folder / (text or "allennlp/sentences.json")).read_text())
    where = (folder / MODELS[name][1]).parent
    expected = [h5py.File(where / f"lm_embeddings_{row}.hdf5") for row in range(3)]
    for _ in range(2):  # the second time after reset_states()
        elmo.reset_states()
        for batch in range(10):
            outputs = elmo([column[batch] for column in columns])
            for row in range(3):
                directions = expected[row][str(batch)][()]  # (2, tokens, projection_dim)
                count = directions.shape[1]
                assert outputs["sequence_len"][row] == count
                top = outputs["lstm_outputs2"][row, :count]
                np.testing.assert_allclose(top, np.concatenate(directions, -1), atol=1e-5)
