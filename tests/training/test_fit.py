"""`BiLanguageModel.fit` and `evaluate`, with what Keras has around them."""

import json
import os
import pathlib
import signal
from types import SimpleNamespace

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from scripts import run_python
from training.letters import CONFIG, WINDOWS, WORDS, make_model, step_losses, values_of

from keras_elmo import BiLanguageModel
from keras_elmo.process.signals import Interrupted
from keras_elmo.training import BackupAndResume, Corpus, LazyAdagrad, LazyAdam, read_options

# The first losses of the trainer that keras_elmo had before `fit`, which had optimizers and a loop
# of its own: 50 steps with the settings of `make_model` and `WINDOWS`.
LOSSES = json.loads((pathlib.Path(__file__).parent / "losses.json").read_text())
EPOCHS = {**WINDOWS, "steps_per_epoch": 10, "epochs": 2}


@pytest.fixture
def heldout(tmp_path):
    (tmp_path / "heldout.txt").write_text("a b c d\ne f g h i\n")
    return Corpus(tmp_path / "heldout.txt")


@pytest.mark.parametrize("optimizer", [LazyAdam, LazyAdagrad])
def test_the_losses_are_those_of_the_trainer_before_it(corpus, optimizer):
    name = optimizer.__name__.removeprefix("Lazy").lower()
    found = step_losses(make_model(optimizer), corpus, 50)
    np.testing.assert_allclose(found, LOSSES[name], rtol=5e-6)


OTHER_BACKEND = """
import sys, json, keras
from keras_elmo.training import Corpus, LazyAdagrad, LazyAdam
from training.letters import make_model, step_losses
if sys.argv[2] == "devices":
    import jax
    assert len(jax.devices()) == 2
    keras.distribution.set_distribution(keras.distribution.DataParallel(devices=jax.devices()))
corpus, losses = Corpus(sys.argv[1]), {}
for name, optimizer in ("adam", LazyAdam), ("adagrad", LazyAdagrad):
    model = make_model(optimizer)
    losses[name] = step_losses(model, corpus, int(sys.argv[3])).tolist()
if keras.backend.backend() == "jax":  # ten steps in two calls
    epochs = dict(steps_per_epoch=10, epochs=2, batch_size=4, unroll_steps=5, seed=5, verbose=0)
    for steps in (1, 5):
        other = make_model(LazyAdam, is_new=True, steps_per_execution=steps)
        history = other.fit(corpus, **epochs, validation_data=corpus).history
        losses[f"scan{steps}"] = history["loss"] + history["val_loss"]
losses["evaluation"] = model.evaluate(corpus, batch_size=2, verbose=0)
print(json.dumps(losses))
"""


@pytest.mark.parametrize(
    "backend, where, num_steps",
    [
        ("jax", "one", 50),
        ("jax", "devices", 20),
        pytest.param("torch", "one", 20, marks=pytest.mark.slow),
    ],
)
def test_the_losses_of_other_backends_and_of_two_devices(corpus, backend, where, num_steps):
    pytest.importorskip(backend)
    env = {"KERAS_BACKEND": backend, "OMP_NUM_THREADS": "1"}
    env["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    arguments = corpus.files[0], where, num_steps
    result = run_python("-c", OTHER_BACKEND, *arguments, env=env, timeout=600)
    assert result.returncode == 0, result.stderr
    losses = json.loads(result.stdout)
    if backend == "jax":
        np.testing.assert_allclose(losses["scan5"], losses["scan1"], rtol=1e-5)
    for name, expected in LOSSES.items():
        np.testing.assert_allclose(losses[name], expected[:num_steps], rtol=1e-5)
    model = make_model(LazyAdagrad)
    step_losses(model, corpus, num_steps)
    expected = model.evaluate(corpus, batch_size=2, verbose=0)
    np.testing.assert_allclose(losses["evaluation"], expected, rtol=1e-4)


def test_what_a_step_cannot_take_is_refused(corpus, heldout, monkeypatch):
    model = make_model(steps_per_execution=2)
    for message, arguments in [
        ("no targets", {"y": [1]}),
        ("sample_weight", {"sample_weight": [1.0]}),
        ("batch_size", {"batch_size": 0}),
        ("corpus must fill", {"x": heldout}),
        ("There is no file", {"x": "nowhere-*.txt"}),
        ("steps_per_epoch", {"steps_per_epoch": 0}),
        ("a multiple of `steps_per_execution`. Received: 9 and 2", {"steps_per_epoch": 9}),
    ]:
        with pytest.raises((ValueError, OSError), match=message):
            model.fit(**{"x": corpus, **WINDOWS, **arguments})
    with pytest.raises(ValueError, match="at most 13"):
        model.compile(num_negatives=14)
    with pytest.raises(ValueError, match="metrics"):
        model.compile(metrics=["accuracy"])
    assert (model.dropout, model.num_negatives) == (0, 6)  # as before
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "distribute_strategy", SimpleNamespace(num_replicas_in_sync=2))
        with pytest.raises(ValueError, match="KERAS_BACKEND=jax"):
            model.fit(corpus, **WINDOWS)
    with pytest.raises(ValueError, match="words|sentence"):
        model.evaluate([], verbose=0)
    with pytest.raises(ValueError, match="no targets.*Received: y"):
        model.evaluate(["a b"], 1, verbose=0)
    monkeypatch.setattr(model, "has_softmax", False)
    with pytest.raises(ValueError, match="softmax"):
        model.evaluate(["a b"], verbose=0)


def test_batches_by_themselves_have_one_graph(corpus):
    model, calls = make_model(is_new=True), []
    model.start_lanes(True, 4, 5, 5)
    batches = model._stream(4, 5, model.num_negatives, 5).training_batches(corpus, 5)
    call = model.call
    model.call = lambda *args, **kwargs: calls.append(1) or call(*args, **kwargs)
    losses = [model.train_on_batch(next(batches))[0] for _ in range(6)]
    assert len(calls) <= 2  # the second for other numbers of words
    expected = step_losses(make_model(), corpus, 6)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


def test_text_in_every_form_is_one_corpus(corpus):
    sentences = list(corpus.sentences())
    lines = [" ".join(tokens) for tokens in sentences]
    (path,) = corpus.files
    expected = step_losses(make_model(), corpus, 3)
    for text in [
        str(path),
        pathlib.Path(path),
        [pathlib.Path(path)],
        sentences,
        lines,
        np.array(lines),
        pd.Series(lines),
        tf.constant(lines),
        tf.ragged.constant(sentences),
        (line for line in lines),
    ]:
        np.testing.assert_array_equal(step_losses(make_model(), text, 3), expected)


def test_an_epoch_reads_the_corpus_once_in_its_order(corpus, monkeypatch):
    model, targets = make_model(is_new=True, run_eagerly=True), []
    call = model.call

    def record(inputs, training):
        targets.extend(np.asarray(inputs["targets"])[0, 0].tolist())
        return call(inputs, training)

    monkeypatch.setattr(model, "call", record)
    model.fit(corpus, batch_size=1, unroll_steps=20, shuffle=False, verbose=0)
    ids = model.vocabulary.ids
    expected = [ids.get(word, 2) for s in corpus.sentences() for word in [*s, "</S>"]]
    assert targets[: len(expected)] == expected and 0 <= len(targets) - len(expected) < 20


def test_it_learns_and_the_held_out_text_is_evaluated(corpus, heldout):
    model = make_model(LazyAdagrad, num_negatives=0)
    history = model.fit(corpus, **{**WINDOWS, "epochs": 30}, validation_data=heldout).history
    assert history["perplexity"][-1] < 8 < 15 < history["perplexity"][0]
    names = {"loss", "perplexity", "forward", "backward"}
    assert set(history) == names | {f"val_{name}" for name in names}
    result = model.evaluate(heldout, batch_size=4, unroll_steps=5, return_dict=True, verbose=0)
    for name in names:
        assert history[f"val_{name}"][-1] == pytest.approx(result[name], rel=1e-6)
    assert result["loss"] == pytest.approx(np.log(result["perplexity"]), rel=1e-6)
    assert result["perplexity"] == pytest.approx((result["forward"] * result["backward"]) ** 0.5)
    # A sentence by itself has the perplexity of its score.
    alone = model.evaluate(["a b c d"], batch_size=1, return_dict=True, verbose=0)
    assert alone["perplexity"] == pytest.approx(model.perplexity(["a b c d"])["perplexity"], 1e-5)
    # The state is carried on: windows of other lengths change nothing in one lane.
    whole, cut = (
        model.evaluate(corpus, batch_size=1, unroll_steps=n, verbose=0)[1] for n in (20, 7)
    )
    assert whole == pytest.approx(cut, rel=1e-5)


@pytest.mark.parametrize(
    "compiled, tolerance",
    [
        ({"jit_compile": True}, 1e-4),
        ({"steps_per_execution": 5}, 1e-5),
        ({"run_eagerly": True}, 1e-5),
        ({"dtype": "mixed_bfloat16"}, 0.05),
    ],
)
def test_each_way_to_run_a_step_gives_its_losses(corpus, compiled, tolerance):
    kwargs = {**EPOCHS, "validation_data": corpus}  # of 23 windows, no multiple of five
    expected = make_model().fit(corpus, **kwargs).history
    model = make_model(is_new=True, **compiled)
    history = model.fit(corpus, **kwargs).history
    for name in ("loss", "val_loss"):
        np.testing.assert_allclose(history[name], expected[name], tolerance)
    assert model.jit_compile == compiled.get("jit_compile", False)


def test_products_in_bfloat16_are_near_those_without(corpus):
    expected = step_losses(make_model(), corpus, 5)
    model = make_model(is_new=True)
    model.matmul_dtype = "bfloat16"
    found = step_losses(model, corpus, 5)
    np.testing.assert_allclose(found, expected, rtol=0.03)
    assert not np.array_equal(found, expected)


def test_dropout_is_applied_to_what_each_layer_and_the_softmax_read(corpus, monkeypatch):
    shapes, dropout = [], keras.random.dropout

    def record(x, rate, seed):
        shapes.append(tuple(x.shape))
        return dropout(x, rate, seed=seed)

    monkeypatch.setattr(keras.random, "dropout", record)
    model = make_model(is_new=True, dropout=0.3, run_eagerly=True)
    first, again, other = (
        step_losses(model, corpus, 1, seed=seed, shuffle=False) for seed in (5, 5, 6)
    )
    size = CONFIG.projection_dim
    assert shapes[:4] == [(5, 4, size)] * 2 + [(4, 5, size)] * 2  # a layer, and the softmax
    assert first != other


def test_callbacks_of_keras(corpus, heldout, tmp_path):
    callbacks = [
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.TensorBoard(tmp_path / "logs"),
        keras.callbacks.EarlyStopping("val_perplexity", patience=0, min_delta=1e9, mode="min"),
        keras.callbacks.ReduceLROnPlateau("val_loss", factor=0.5, patience=1, min_delta=1e9),
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.ModelCheckpoint(tmp_path / "{epoch}.keras"),
    ]
    model = make_model(is_new=True)
    kwargs = {**EPOCHS, "epochs": 9, "validation_data": heldout}
    history = model.fit(corpus, **kwargs, callbacks=callbacks).history
    assert len(history["loss"]) == 2  # by the early stopping
    log = pd.read_csv(tmp_path / "log.csv")
    assert log["val_perplexity"].tolist() == pytest.approx(history["val_perplexity"])
    assert (tmp_path / "logs/validation").is_dir() and (tmp_path / "1.keras").exists()
    loaded = keras.models.load_model(tmp_path / "2.keras")
    assert loaded.dropout == 0 and loaded.num_negatives == 6
    assert loaded.optimizer.iterations.numpy() == 20
    assert loaded.evaluate(heldout, verbose=0) == model.evaluate(heldout, verbose=0)
    expected = step_losses(model, corpus, 2)
    np.testing.assert_allclose(step_losses(loaded, corpus, 2), expected, rtol=1e-5)


@pytest.mark.parametrize("own", [{"use_ema": True}, {"gradient_accumulation_steps": 2}])
@pytest.mark.parametrize("optimizer", [LazyAdam, keras.optimizers.Adam])
def test_what_keras_optimizers_do_besides(corpus, optimizer, own):
    model = make_model(is_new=True)
    model.compile(optimizer(0.01, global_clipnorm=1.0, **own), dropout=0, num_negatives=0)
    losses = model.fit(corpus, **{**EPOCHS, "epochs": 5}).history["loss"]
    assert losses[-1] < 0.95 * losses[0]


def test_files_hold_no_state_of_lanes(corpus, tmp_path):
    model = make_model()
    names = [variable.path for variable in model.weights]
    step_losses(model, corpus, 2)
    assert [variable.path for variable in model.weights] == names
    model.save_weights(tmp_path / "model.weights.h5")
    other = BiLanguageModel(CONFIG, WORDS)
    other.load_weights(tmp_path / "model.weights.h5")
    assert other.perplexity(["a b c"]) == model.perplexity(["a b c"])


def stop_after(num_batches, stop):
    """A callback that calls `stop` after so many batches of training."""
    batches = iter(range(num_batches - 1))

    def after_batch(batch, logs):
        if next(batches, None) is None:
            stop()

    return keras.callbacks.LambdaCallback(on_train_batch_end=after_batch)


def fail():
    raise OSError("the disk is full")


def interrupt():
    os.kill(os.getpid(), signal.SIGTERM)


def test_a_resumed_run_is_the_run_it_would_have_been(corpus, heldout, tmp_path):
    kwargs = {**EPOCHS, "epochs": 4, "validation_data": heldout}

    def run(folder, *callbacks):
        model = make_model(dropout=0.1)
        backup = BackupAndResume(tmp_path / folder, save_freq=4)
        history = model.fit(corpus, **kwargs, callbacks=[*callbacks, backup]).history
        assert backup.step == 40
        rows = list(zip(history["val_perplexity"], history["loss"], strict=True))
        return rows, values_of(model), backup.best

    rows, expected, best = run("whole")
    assert best == min(rows)[0] and len(rows) == 4
    for number, stop, saved in [(13, fail, 12), (13, interrupt, 13), (20, interrupt, 20)]:
        folder = f"{stop.__name__}-{number}"
        message = "disk" if stop is fail else f"from the checkpoint of step {number}"
        with pytest.raises((OSError, Interrupted), match=message):
            run(folder, stop_after(number, stop))
        names = sorted(os.listdir(tmp_path / folder / "checkpoints"))
        assert names[-1] == f"step-{saved:010}.npz" and len(names) == 2
        again, values, again_best = run(folder)
        assert again == rows[-len(again) :] and again_best == best
        for value, other in zip(values, expected, strict=True):
            np.testing.assert_array_equal(value, other)
    model = BiLanguageModel.from_pretrained(tmp_path / "whole")
    result = model.evaluate(heldout, batch_size=4, unroll_steps=5, verbose=0)
    assert result[1] == pytest.approx(best, rel=1e-6)


def test_a_signal_during_an_evaluation(corpus, heldout, tmp_path):
    kwargs = {**EPOCHS, "validation_data": heldout}
    whole = make_model().fit(corpus, **kwargs).history
    callback = keras.callbacks.LambdaCallback(on_test_begin=lambda logs: interrupt())
    with pytest.raises(Interrupted, match="from the checkpoint of step 10"):
        backup = BackupAndResume(tmp_path, save_freq=5)
        make_model().fit(corpus, **kwargs, callbacks=[callback, backup])
    history = make_model().fit(corpus, **kwargs, callbacks=BackupAndResume(tmp_path)).history
    assert history == whole  # the evaluation is begun again


def test_another_held_out_text_has_another_best(corpus, heldout, tmp_path):
    (tmp_path / "hard.txt").write_text("x a w b v c\nu d t e s f\n")
    hard = Corpus(tmp_path / "hard.txt")
    bests = []
    for num_steps, text in (2, heldout), (2, heldout), (3, hard), (3, hard), (3, heldout):
        model, backup = make_model(), BackupAndResume(tmp_path / "run")
        kwargs = {**WINDOWS, "epochs": num_steps, "steps_per_epoch": 1, "validation_data": text}
        model.fit(corpus, **kwargs, callbacks=[backup])
        bests.append(backup.best)
        assert backup.step == num_steps
    assert bests[0] == bests[1] != bests[2] == bests[3] and bests[4] == np.inf


@pytest.mark.parametrize("is_eager", [False, True])
def test_without_zero_starts_the_state_goes_on_as_in_an_evaluation(corpus, is_eager):
    lines = [["a", "b", "c", "d"], ["k", "l", "m", "n"]]  # a window each
    windows = {"batch_size": 1, "unroll_steps": 5, "shuffle": False}
    model = make_model(is_new=True, zero_starts=False, num_negatives=0, run_eagerly=is_eager)
    model.optimizer.learning_rate.assign(0.0)
    losses = step_losses(model, lines, 2, **windows)
    kwargs = {"batch_size": 1, "unroll_steps": 5, "verbose": 0}
    assert losses.mean() == pytest.approx(model.evaluate(lines, **kwargs)[0], rel=1e-5)
    first, second = (model.evaluate([line], **kwargs)[0] for line in lines)
    assert losses[0] == pytest.approx(first, rel=1e-5) and abs(losses[1] - second) > 1e-4


@pytest.mark.parametrize("name", ["batch_size", "seed", "shuffle", "num_negatives", "corpus"])
def test_another_run_is_not_resumed(corpus, heldout, tmp_path, name):
    step_losses(make_model(), corpus, 2, callbacks=[BackupAndResume(tmp_path / "run")])
    other = {"batch_size": 2, "seed": 6, "shuffle": False}
    kwargs = {name: other[name]} if name in other else {}
    model = make_model(num_negatives=5) if name == "num_negatives" else make_model()
    if name == "corpus":
        corpus = [*corpus.sentences(), ["a"]]
    with pytest.raises(ValueError, match=f"settings that it began with.*{name}"):
        step_losses(model, corpus, 2, **kwargs, callbacks=[BackupAndResume(tmp_path / "run")])


def test_numbers_that_are_not_finite_end_a_run_and_are_not_kept(corpus, tmp_path):
    model, backup = make_model(), BackupAndResume(tmp_path, save_freq=1)
    step_losses(model, corpus, 1, callbacks=[backup])
    model.softmax.bias.assign(np.full(len(WORDS), np.nan))
    with pytest.raises(FloatingPointError, match="no longer finite"):
        backup.save(is_epoch_ended=True)
    assert os.listdir(tmp_path / "checkpoints") == ["step-0000000001.npz"]
    with pytest.raises(FloatingPointError, match="At step 0 the loss is nan"):
        step_losses(model, corpus, 1, callbacks=[BackupAndResume(tmp_path / "new")])


@pytest.mark.slow
def test_from_scratch_as_far_as_the_original(shared):
    """bilm-tf came to 56.29 in the same steps, on the same text in the same order."""
    folder = shared / "fixtures/bilm-checkpoint"
    config, known, _ = read_options(folder / "checkpoint/options.json")
    found = []
    for seed in (1, 2, 3):
        model = BiLanguageModel(config, folder / "vocab.txt")
        model.initialize(seed)
        optimizer = LazyAdagrad(global_clipnorm=known["clip_norm"])
        model.compile(optimizer, known["dropout"], known["num_negatives"])
        windows = {name: known[name] for name in ("batch_size", "unroll_steps")}
        kwargs = {"steps_per_epoch": 300, "shuffle": False, "seed": seed, "verbose": 0}
        model.fit(folder / "train.txt", **windows, **kwargs)
        found.append(model.evaluate(folder / "heldout.txt", batch_size=1, verbose=0)[1])
    print(found)  # for README, with `pytest -s`
    assert np.mean(found) < 1.05 * 56.29
