"""The trainer in JAX does what the package's own does."""

import dataclasses
import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from scripts import load_script

import keras_elmo
from keras_elmo import BiLanguageModel, ElmoConfig, characters
from keras_elmo.training import Corpus, LazyAdam
from keras_elmo.training.stream import Stream
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
def test_steps_equal_those_of_the_package(script, config, clip_norm):
    model = make_model(config, WORDS)
    sizes = {"batch_size": LANES, "unroll_steps": WINDOW, "num_negatives": 30}
    model.compile(LazyAdam(0.01, global_clipnorm=clip_norm), dropout=0, num_negatives=30)
    stream = Stream(model.vocabulary, model.token_encoder.scheme, **sizes)

    class Sentences:
        def epoch(self, epoch, *_):
            return iter(make_sentences(np.random.default_rng(epoch), WORDS))

    weights = before = {script.variable_name(v): v.numpy() for v in model.trainable_variables}
    in_all = np.ones(len(weights["character_encoder/character_embedding"]), bool)
    optimizer, state = script.first_state(weights, config, LANES)
    take = jax.jit(lambda *values: script.training_step(*values, 0.01, config, clip_norm))
    model.start_lanes(True, LANES, WINDOW)
    for batch in itertools.islice(stream.training_batches(Sentences()), 5):
        model.reset_metrics()
        logs = model.train_on_batch(batch, return_dict=True)
        ids = batch["characters"]
        in_all &= np.isin(np.arange(1, len(in_all) + 1), ids)
        batch = {
            "character_ids": np.pad(ids, [(0, 64 - len(ids)), (0, 0)]),
            "inputs": batch["inputs"].swapaxes(0, 1),
            "targets": batch["targets"].swapaxes(0, 1),
            "starts_sentence": batch["starts"],
            "negatives": batch["negatives"].T,
            "num_draws": batch["num_draws"][0],
        }
        weights, optimizer, state, losses, _ = take(weights, optimizer, state, batch)
        own_losses = np.log([logs["forward"], logs["backward"]])
        np.testing.assert_allclose(losses, own_losses, rtol=1e-5)
    for variable in model.trainable_variables:
        name = script.variable_name(variable)
        # The two differ in what they do with a character that a window does not have.
        rows = in_all if name.endswith("character_embedding") else slice(None)
        own, found = variable.numpy()[rows], weights[name][rows]
        np.testing.assert_allclose(found, own, atol=2e-5, err_msg=name)
    assert in_all.sum() > 20
    for name, weight in weights.items():
        assert np.abs(weight - before[name]).max() > 0.01, name


def test_an_epoch_reads_each_sentence_in_both_directions(script):
    rng = np.random.default_rng(1)
    sentences = make_sentences(rng, WORDS, 40)
    model = BiLanguageModel(CONFIG, ["<S>", "</S>", "<UNK>", *WORDS[:20]])
    text = script.Text(sentences, model)
    ids = map(characters.word_to_ids, map(characters.text_to_bytes, text.words))
    assert text.character_ids.tolist() == [*characters.boundary_ids(), *ids]
    names = ["<S>", "</S>", *text.words]
    expected = [model.vocabulary.ids.get(name, 2) for name in names]
    assert text.word_ids.tolist() == expected

    inputs, targets, starts = text.epoch(0, 1, WINDOW)
    assert inputs.shape == targets.shape == (2, 1, starts.shape[1])
    total = sum(len(sentence) + 1 for sentence in sentences)
    assert starts.shape == (1, total // WINDOW * WINDOW)
    bounds = [*np.flatnonzero(starts[0])]  # the last sentence may be cut off
    read = []
    for begin, end in zip(bounds, bounds[1:], strict=False):
        forward, backward = ([names[k] for k in row[begin:end]] for row in inputs[:, 0])
        right, left = ([names[k] for k in row[begin:end]] for row in targets[:, 0])
        assert forward[0] == left[-1] == "<S>" and backward[0] == right[-1] == "</S>"
        assert forward[1:] == right[:-1] == backward[1:][::-1] == left[:-1][::-1]
        read.append(forward[1:])
    assert len(read) >= 38
    assert sorted(read) == sorted(s for s in sentences if s in read)
    other = text.epoch(1, 1, WINDOW)[0]
    assert other.shape == inputs.shape and (other != inputs).any()
    # Several lanes hold stretches of the same text.
    for x, y in zip((inputs, targets, starts), text.epoch(0, 3, WINDOW), strict=True):
        length = y.shape[-1]
        assert y.shape[-2] == 3 and length % WINDOW == 0
        for k in range(3):
            part = x[..., 0, k * length : (k + 1) * length]
            np.testing.assert_array_equal(y[..., k, :], part)


@pytest.fixture
def files(tmp_path):
    """A text in which each word tells the next one, and the options of a small model."""
    (tmp_path / "train.txt").write_text("a b c d e f g h .\n" * 400)
    (tmp_path / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *"abcdefgh."]) + "\n")
    config = ElmoConfig(16, 8, num_layers=1, filters=[(1, 12)], character_dim=4, num_highway=0)
    (tmp_path / "options.json").write_text(json.dumps(config.to_options()))
    names = {"--train": "train.txt", "--vocab": "vocab.txt", "--options": "options.json"}
    return [x for name, file in names.items() for x in (name, str(tmp_path / file))]


def test_chunks_of_steps_equal_single_steps(script, files, tmp_path, monkeypatch):
    """Also where an epoch ends within a chunk."""
    sizes = {"batch_size": 3, "unroll_steps": 2, "num_negatives": 5}
    rates = {"learning_rate": 0.01, "warmup_steps": 0, "clip_norm": 10.0}
    options = SimpleNamespace(**sizes, **rates, matmul_dtype="float32", seed=0)
    found = []
    for size in (1, 4):
        monkeypatch.setattr(script, "CHUNK", size)
        model = BiLanguageModel(tmp_path / "options.json", tmp_path / "vocab.txt")
        model.initialize(1)
        sentences = itertools.islice(Corpus(tmp_path / "train.txt").sentences(), 3)
        text, steps = script.Text(sentences, model), []
        assert text.epoch(0, 3, 2)[0].shape == (2, 3, 10)  # five steps
        script.train(model, text, options, 7, 8, lambda step, *_, steps=steps: steps.append(step))
        found.append((steps, model.get_weights()))
    (singles, one), (chunks, four) = found
    assert singles == [1, 2, 3, 4, 5, 6, 7] and chunks == [4, 5, 7]
    for x, y in zip(one, four, strict=True):
        np.testing.assert_allclose(x, y, atol=1e-6)


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
        ("--batch-size 999", "The text must have at least 999 x 20 tokens"),
        ("--train {folder}/blank.txt", "Received: 0 tokens; make --batch-size smaller"),
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
