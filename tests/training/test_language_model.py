import contextlib
import dataclasses
import json
import os

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf
from files import datasets
from reference import Reference, boundary, character_ids

from keras_elmo import BiLanguageModel, Elmo, ElmoConfig
from keras_elmo.training.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "the", "cat", "sat", "na\u00efve", "."])
SENTENCES = ["the cat sat .", "", "na\u00efve dog", "cat"]


@pytest.fixture(scope="module")
def small_config(small_config):
    """With one LSTM layer: more would only take longer to trace."""
    return dataclasses.replace(small_config, num_layers=1)


@pytest.fixture(scope="module")
def model(small_config):
    keras.utils.set_random_seed(0)
    initializer = keras.initializers.RandomNormal(stddev=0.4)
    model = BiLanguageModel(small_config, VOCABULARY, kernel_initializer=initializer)
    model.softmax.bias.assign(np.random.normal(size=model.softmax.bias.shape))
    return model


@pytest.fixture
def folder(model, tmp_path):
    model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def expected_scores(folder, words):
    """Both directions by the reference in NumPy: log P of each, in the order of text."""
    options = json.loads((folder / "options.json").read_text())
    reference = Reference(options, datasets(folder / "weights.hdf5"))
    rows = [boundary(257, 50), *(character_ids(w, 50) for w in words), boundary(258, 50)]
    top = reference.layers(np.stack([reference.token_embedding(row) for row in rows]))[-1]
    forward, backward = np.split(top, 2, axis=-1)
    softmax = datasets(folder / "softmax.hdf5")

    def log_probability(x, number):
        logits = softmax["softmax/W"].astype(np.float64) @ x + softmax["softmax/b"]
        return logits[number] - np.log(np.exp(logits).sum())

    numbers = [0, *(VOCABULARY.ids.get(word, 2) for word in words), 1]
    return (
        [log_probability(forward[k], numbers[k + 1]) for k in range(len(words) + 1)],
        [log_probability(backward[k + 1], numbers[k]) for k in range(len(words) + 1)],
    )


def test_scores_equal_the_reference(model, folder):
    scores = model.score(SENTENCES)
    alone = model.score(SENTENCES, token_budget=1)
    for sentence, score, one in zip(SENTENCES, scores, alone, strict=True):
        np.testing.assert_allclose(score, expected_scores(folder, sentence.split()), atol=1e-5)
        np.testing.assert_allclose(score, one, atol=1e-6)
    outputs = model(SENTENCES)
    assert outputs["sequence_len"].numpy().tolist() == [4, 0, 2, 1]
    np.testing.assert_allclose(outputs["forward"][2, :3], scores[2].forward, atol=1e-6)
    assert not outputs["forward"][2, 3:].numpy().any()
    losses = [-np.concatenate(values).mean() for values in zip(*scores, strict=True)]
    expected = np.exp([*losses, np.mean(losses)])
    assert list(model.perplexity(SENTENCES).values()) == pytest.approx(expected, rel=1e-5)


def test_top_words_are_the_most_likely(model):
    words = ["the", "dog", "sat"]
    top = model.top_words(words, k=len(VOCABULARY))
    assert [place["token"] for place in top] == words
    (score,) = model.score([words])
    for word, place, *values in zip(words, top, score.forward, score.backward[1:], strict=False):
        for direction, value in zip(("forward", "backward"), values, strict=True):
            chances = dict(place[direction])
            assert set(chances) == set(VOCABULARY.words)
            assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
            assert list(chances.values()) == sorted(chances.values(), reverse=True)
            chance = chances[word if word in VOCABULARY.words else "<UNK>"]
            assert np.log(chance) == pytest.approx(value, abs=1e-5)
    assert model.top_words("the dog sat", k=2)[1]["forward"] == top[1]["forward"][:2]
    assert model.top_words("", k=2) == []
    for k in (0, 9):
        with pytest.raises(ValueError, match="`k`"):
            model.top_words("the", k=k)


def test_top_words_are_of_one_sentence(model):
    expected = model.top_words("the cat", k=2)
    for sentence in (b"the cat", tf.constant("the cat"), ("the", b"cat"), np.array(["the", "cat"])):
        assert model.top_words(sentence, k=2) == expected
    for sentence in (None, [3], [["the", "cat"]], tf.ragged.constant([["the"]])):
        with pytest.raises(TypeError, match="Received"):
            model.top_words(sentence, k=2)
    with pytest.raises(ValueError, match="the cat"):
        model.top_words(["the cat"], k=2)


def test_files_there_and_back(model, folder):
    assert {path.name for path in folder.iterdir()} == {
        "README.md", "options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"
    }  # fmt: skip
    model.save(folder / "model.keras")
    for load, path in (
        (BiLanguageModel.from_pretrained, folder),
        (keras.models.load_model, folder / "model.keras"),
    ):
        loaded = load(path)
        assert loaded.vocabulary == VOCABULARY and loaded.has_softmax
        assert all(map(np.array_equal, loaded.get_weights(), model.get_weights()))
    elmo = Elmo.from_pretrained(folder)
    assert all(map(np.array_equal, elmo.bilm.get_weights(), model.bilm.get_weights()))


def test_weights_without_a_softmax(folder, tmp_path):
    (folder / "softmax.hdf5").unlink()
    with pytest.warns(UserWarning, match="holds no softmax"):
        model = BiLanguageModel.from_pretrained(folder)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for task in (model.perplexity, lambda x: model.top_words(x[0]), loaded):
        with pytest.raises(ValueError, match="must have a trained softmax"):
            task(SENTENCES)
    pair = (folder / "options.json", folder / "weights.hdf5")
    with pytest.warns(UserWarning):
        assert len(BiLanguageModel.from_pretrained(pair, VOCABULARY).vocabulary) == 8
    for source in (pair, "tiny"):
        with pytest.raises(ValueError, match="`vocabulary`.*`keras-elmo train --init`"):
            BiLanguageModel.from_pretrained(source)


def test_a_softmax_of_another_vocabulary(folder):
    for words in (["a"], ["cat", "the", "sat", "na\u00efve", "."]):  # of another size, and the same
        with pytest.warns(UserWarning, match="holds no softmax .* for this vocab"):
            model = BiLanguageModel.from_pretrained(folder, ["<S>", "</S>", "<UNK>", *words])
        assert not model.has_softmax
    model.save_pretrained(folder)  # the softmax that was there is not of this vocabulary
    assert not (folder / "softmax.hdf5").exists()
    (folder / "vocab.txt").unlink()
    model.has_softmax = True  # as after training
    model.save_pretrained(folder)
    (folder / "vocab.txt").unlink()
    with pytest.warns(UserWarning, match="holds no softmax .* for this vocab"):
        BiLanguageModel.from_pretrained(folder, ["<S>", "</S>", "<UNK>", "a"])


@pytest.fixture(scope="module")
def other(small_config):
    """Another model of the same shape."""
    other = BiLanguageModel(small_config, VOCABULARY)
    other.initialize(seed=3)
    return other


@pytest.mark.parametrize("count", range(6))
def test_a_save_that_is_killed_mixes_no_two_models(folder, other, monkeypatch, count):
    """Killed after any number of renames, it leaves no weights beside another model's softmax."""
    replace, calls = os.replace, []

    def killed(*args):
        if len(calls) == count:
            raise KeyboardInterrupt
        calls.append(replace(*args))

    is_whole = count in (0, 4, 5)  # of four files and a card
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        with contextlib.nullcontext() if count == 5 else pytest.raises(KeyboardInterrupt):
            other.save_pretrained(folder)
    with contextlib.nullcontext() if is_whole else pytest.warns(match="saved with these weights"):
        assert BiLanguageModel.from_pretrained(folder).has_softmax == is_whole
    other.save_pretrained(folder)
    again = BiLanguageModel.from_pretrained(folder)
    assert again.has_softmax and all(map(np.array_equal, again.get_weights(), other.get_weights()))


def test_a_softmax_goes_only_with_its_weights(folder, other):
    def forget(name):
        with h5py.File(folder / name, "a") as file:
            file.attrs.clear()

    forget("softmax.hdf5")  # It names no weights, and the weights have a name.
    with pytest.warns(UserWarning, match="saved with these weights"):
        assert not BiLanguageModel.from_pretrained(folder).has_softmax
    forget("weights.hdf5")  # The published files say nothing of the weights, either.
    assert BiLanguageModel.from_pretrained(folder).has_softmax
    Elmo.save_pretrained(other, folder)  # the weights alone
    with pytest.warns(UserWarning, match="saved with these weights"):
        assert not BiLanguageModel.from_pretrained(folder).has_softmax


def test_files_with_the_originals_names(model, folder):
    """Of the form of `"original"`: another order of words, and files that say nothing of others."""
    softmax = datasets(folder / "softmax.hdf5")
    order = np.random.permutation(len(VOCABULARY))
    for name in ("softmax.hdf5", "vocab.txt"):
        (folder / name).unlink()
    words = [f"{VOCABULARY.words[i]}\n" for i in order]
    (folder / "vocab-2016-09-10.txt").write_text("".join(words), encoding="utf-8")
    with h5py.File(folder / "elmo_2x_softmax_weights.hdf5", "w") as file:
        for name in ("softmax/W", "softmax/b"):
            file[name] = softmax[name][order]
    with h5py.File(folder / "weights.hdf5", "a") as file:
        file.attrs.clear()
    for name in ("weights.hdf5", "options.json"):
        (folder / name).rename(folder / f"elmo_2x_{name}")
    loaded = BiLanguageModel.from_pretrained(folder)
    assert loaded.has_softmax and loaded.source == str(folder)
    assert loaded.vocabulary.words == tuple(VOCABULARY.words[i] for i in order)
    for one, other in zip(loaded.softmax.weights, model.softmax.weights, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy()[order])
    assert all(map(np.array_equal, loaded.bilm.get_weights(), model.bilm.get_weights()))


def test_the_originals_initial_weights():
    config = ElmoConfig(units=256, projection_dim=64, filters=[(1, 32), (3, 96)])
    model = BiLanguageModel(config, ["<S>", "</S>", "<UNK>", *map(str, range(2000))])
    model.initialize(3)
    encoder = model.character_encoder
    deviations = {
        1 / np.sqrt(3): encoder.character_embedding,
        0.05 / np.sqrt(3): encoder.convolution_kernels[1],
        128**-0.5: encoder.highway_layers[0].carry_kernel,
        128**-0.5 + 1e-9: encoder.projection_kernel,
        64**-0.5: model.softmax.kernel,
        np.sqrt(6 / (128 + 1024) / 3): model.bilm.cells("backward")[1].recurrent_kernel,
        np.sqrt(6 / (256 + 64) / 3): model.bilm.cells("forward")[0].projection_kernel,
    }
    for expected, variable in deviations.items():
        assert variable.numpy().std() == pytest.approx(expected, rel=0.05), variable.path
    assert np.all(encoder.highway_layers[1].carry_bias.numpy() == -2)
    assert not np.any(model.bilm.cells("forward")[0].bias.numpy())
    first = model.get_weights()
    for seed in (3, 4):
        model.initialize(seed)
        is_same = all(map(np.array_equal, model.get_weights(), first))
        assert is_same == (seed == 3)
