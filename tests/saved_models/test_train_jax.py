"""The trainer in JAX does what the package's own does."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from scripts import load_script

import keras_elmo
from keras_elmo import BiLanguageModel, ElmoConfig
from keras_elmo.training import Corpus, LazyAdam, WarmUpSchedule
from keras_elmo.training.vocabulary import Vocabulary

jax = pytest.importorskip("jax")
LANES, WINDOW = 4, 5


@pytest.fixture(scope="module")
def script():
    """The script, whose programs are compiled quickly and run slowly."""
    jax.config.update("jax_disable_most_optimizations", True)
    tf.config.run_functions_eagerly(True)
    yield load_script("saved_models/tiny/train_jax.py")
    tf.config.run_functions_eagerly(False)
    jax.config.update("jax_disable_most_optimizations", False)


def make_sentences(rng, words, count=200):
    return [list(rng.choice(words, rng.integers(1, 15))) for _ in range(count)]


def make_model(config, words):
    model = BiLanguageModel(config, Vocabulary(["<S>", "</S>", "<UNK>", *words[:200]]))
    model.initialize(3)
    for k, variable in enumerate(model.trainable_variables):  # biases too
        variable.assign(variable + tf.random.stateless_normal(variable.shape, (1, k), stddev=0.1))
    return model


LETTERS = "".join(np.random.default_rng(0).permuted(list("abcdefghijklmnopqrstuvwxyzé" * 3)))
WORDS = list(dict.fromkeys(LETTERS[i : i + n] for i in range(25) for n in (1, 2, 5, 9, 60)))
CONFIG = ElmoConfig(24, 12, filters=[(1, 8), (2, 8), (3, 16)], character_dim=4)
OTHER = {"num_layers": 3, "num_highway": 0, "activation": "tanh", "use_skip_connections": False}
OTHER |= {"cell_clip": None, "projection_clip": 0.2, "max_characters": 12}


@pytest.mark.parametrize(
    ("config", "clip_norm"),
    [
        (CONFIG, 10.0),
        pytest.param(dataclasses.replace(CONFIG, **OTHER), 0.5, marks=pytest.mark.slow),
    ],
)
def test_steps_equal_those_of_the_package(script, tmp_path, monkeypatch, config, clip_norm):
    model, path = make_model(config, WORDS), tmp_path / "text.txt"
    sentences = make_sentences(np.random.default_rng(0), WORDS)
    path.write_text("\n".join(map(" ".join, sentences)), encoding="utf-8")
    sizes = {"batch_size": LANES, "unroll_steps": WINDOW}
    rates = {"learning_rate": 0.01, "warmup_steps": 2, "clip_norm": clip_norm}
    options = SimpleNamespace(**sizes, **rates, steps=5, num_negatives=30, seed=7)
    options.max_words, options.matmul_dtype = 48, "float32"
    before, found = model.get_weights(), []
    monkeypatch.setattr(script, "CHUNK", 1)
    script.train(model, Corpus(path), options, lambda *values: found.append(values))
    weights = model.get_weights()

    model.set_weights(before)
    schedule = WarmUpSchedule(0.01, 5, "cosine", 2)
    model.compile(LazyAdam(schedule, global_clipnorm=clip_norm), dropout=0, num_negatives=30)
    history = model.fit(path, **sizes, epochs=5, steps_per_epoch=1, seed=7, verbose=0).history
    assert [step for step, _, _ in found] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose([loss for _, loss, _ in found], history["loss"], rtol=1e-5)
    values = zip(model.weights, weights, model.get_weights(), before, strict=True)
    for variable, one, other, start in values:
        if variable.path.endswith("character_embedding"):
            # The two differ in what they do with a character to which a window gives no gradient.
            is_equal = np.isclose(one, other, atol=2e-5) & (other != start)
            assert is_equal.all(axis=1).sum() > 20
        else:
            np.testing.assert_allclose(one, other, atol=2e-5, err_msg=variable.path)
        assert np.abs(one - start).max() > 0.01, variable.path


@pytest.fixture
def files(tmp_path):
    """A text in which each word tells the next one, and the options of a small model."""
    (tmp_path / "train.txt").write_text("a b c d e f g h .\n" * 400)
    (tmp_path / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *"abcdefgh."]) + "\n")
    config = ElmoConfig(16, 8, num_layers=1, filters=[(1, 12)], character_dim=4, num_highway=0)
    (tmp_path / "options.json").write_text(json.dumps(config.to_options()))
    names = {"--train": "train.txt", "--vocab": "vocab.txt", "--options": "options.json"}
    return [x for name, file in names.items() for x in (name, str(tmp_path / file))]


@pytest.mark.slow
def test_a_run_writes_a_model_that_has_learned(script, files, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(script, "CHUNK", 20)
    output = tmp_path / "model"
    numbers = "--steps 90 --batch-size 8 --warmup-steps 10 --learning-rate 0.03 --max-words 16"
    script.main([*files, *numbers.split(), "-o", str(output)])
    model = keras_elmo.BiLanguageModel.from_pretrained(output)
    perplexity = model.evaluate(tmp_path / "train.txt", verbose=0)[1]
    assert perplexity < 1.5  # a guess among all words has 12
    assert "step 90: loss" in capsys.readouterr().err


def test_a_run_starts_from_a_model(script, files, tmp_path, monkeypatch):
    """The softmax is a new one."""
    monkeypatch.setattr(script, "train", lambda model, *_: setattr(model, "has_softmax", True))
    start = BiLanguageModel(tmp_path / "options.json", tmp_path / "vocab.txt")
    start.initialize(5)
    start.save_pretrained(tmp_path / "start")
    (tmp_path / "start/softmax.hdf5").unlink()
    init = ["--init", str(tmp_path / "start"), "--steps", "2"]
    script.main([*files[:4], *init, "-o", str(tmp_path / "model")])
    model = BiLanguageModel.from_pretrained(tmp_path / "model")
    assert model.has_softmax
    for x, y in zip(start.trainable_variables, model.trainable_variables, strict=True):
        is_same = np.allclose(x.numpy(), y.numpy(), atol=1e-6)
        assert is_same != x.path.endswith("softmax/kernel"), x.path


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ("--steps 0", "--steps: must be an integer of at least 1. Received: 0"),
        ("-o {folder}", "--output must be a new folder. Received: "),
        ("--options {folder}/wide.json", "must read bytes, and have a projection"),
        (
            "--batch-size 999",
            "The corpus must fill `batch_size` windows of `unroll_steps` tokens: 19,980",
        ),
        ("--train {folder}/blank.txt", "The text must have words. Received: none in "),
        *[
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                ("--batch-size 8 --max-words 5", "--max-words must be at least 11, "),
                ("--batch-size 3 --learning-rate 1e38", " a loss or the norm"),
            ]
        ],
    ],
)
def test_what_does_not_fit_is_refused(script, files, tmp_path, capsys, numbers, message):
    config = ElmoConfig(8, 8, filters=[(1, 12)], character_dim=4)
    (tmp_path / "wide.json").write_text(json.dumps(config.to_options()))
    (tmp_path / "blank.txt").write_text("\n\n")
    typed = numbers.format(folder=tmp_path).split()
    with pytest.raises((ValueError, FloatingPointError, SystemExit)) as caught:
        script.main([*files, "-o", str(tmp_path / "model"), "--steps", "9", *typed])
    assert message in str(caught.value) + capsys.readouterr().err
    assert not (tmp_path / "model").exists()
