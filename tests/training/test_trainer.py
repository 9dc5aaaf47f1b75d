import dataclasses
import os
import signal

import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import BiLanguageModel
from keras_elmo.training import Corpus, Trainer, TrainingOptions, evaluate, read_options
from keras_elmo.training.signals import Interrupted

WORDS = ["<S>", "</S>", "<UNK>", *"abcdefghijklmnopqrstuvwx"]
CONFIG = keras_elmo.ElmoConfig(
    units=12, projection_dim=6, character_dim=4, filters=[(1, 4), (2, 4)], num_highway=1
)
OPTIONS = TrainingOptions(
    batch_size=4, unroll_steps=5, dropout=0.2, num_negatives=6, epochs=3, seed=5
)


@pytest.fixture
def corpus(tmp_path):
    """Sentences in which each letter is followed by the next."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(80):
        start, length = rng.integers(0, 18), rng.integers(3, 7)
        lines.append(" ".join(WORDS[3 + start : 3 + start + length]))
    (tmp_path / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    return Corpus(tmp_path / "text.txt")


def make(corpus, folder=None, options=OPTIONS, config=CONFIG, **kwargs):
    model = BiLanguageModel(config, WORDS, dtype=options.dtype)
    model.initialize(options.seed)
    return Trainer(model, corpus, options, folder, **kwargs)


def losses(trainer):
    found = []
    trainer.run(lambda figures: found.append(figures["loss"]))
    return found


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"num_negatives": 0},
        {"dtype": "mixed_bfloat16"},
        {"optimizer": "adam", "learning_rate": 0.01},
    ],
)
def test_it_learns(corpus, change):
    change = {"learning_rate": 1.0, **change}
    options = dataclasses.replace(OPTIONS, dropout=0.0, **change)
    trainer = make(corpus, options=options, steps=250)
    before = evaluate(trainer.model, corpus.sentences())["perplexity"]
    found = losses(trainer)
    after = evaluate(trainer.model, corpus.sentences())["perplexity"]
    scored = trainer.model.perplexity([" ".join(s) for s in corpus.sentences()])["perplexity"]
    assert len(found) == 250 and np.mean(found[-10:]) < np.mean(found[:10]) - 0.3
    assert 20 < before < 40 and after < before * (0.8 if options.num_negatives else 0.5)
    assert scored == pytest.approx(after, rel=0.1)  # from a zero state each
    assert trainer.model.bilm.cells("forward")[0].kernel.dtype == "float32"


def test_epochs_are_turned_into_steps(corpus):
    positions = sum(corpus.counts())
    assert make(corpus).steps == -(-3 * positions // 20)
    assert make(corpus, steps=7).steps == 7


@pytest.mark.parametrize(
    "broken_at, optimizer", [(1, "adagrad"), (13, "adagrad"), (20, "adagrad"), (13, "adam")]
)
def test_a_run_that_goes_on_is_the_run_it_would_have_been(corpus, tmp_path, broken_at, optimizer):
    options = dataclasses.replace(OPTIONS, optimizer=optimizer, learning_rate=None)
    whole = make(corpus, options=options, steps=30)
    expected = losses(whole)
    first = make(corpus, tmp_path / "run", options, steps=30, checkpoint_every=1)
    found = []

    def stop(figures):
        found.append(figures["loss"])
        if figures["step"] == broken_at:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        first.run(stop)
    second = make(corpus, tmp_path / "run", options, steps=30)
    second.model.initialize(99)  # all comes from the checkpoint
    assert second.restore() and second.step == broken_at
    found += losses(second)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    for one, other in zip(second.model.variables, whole.model.variables, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-6)


def test_samples_are_at_most_half_of_the_vocabulary(corpus):
    options = dataclasses.replace(OPTIONS, num_negatives=None)
    assert make(corpus, options=options).options.num_negatives == 13
    assert options.for_vocabulary(1999).num_negatives == 999
    assert options.for_vocabulary(5000).num_negatives == 1024


def test_the_step_is_traced_once_and_a_signal_then_raises_at_once(corpus, tmp_path, monkeypatch):
    trainer = make(corpus, steps=5)
    trainer.run()
    assert trainer._train_step.experimental_get_tracing_count() == 1
    read, calls = BiLanguageModel.read_windows, []

    def killed(*args, **kwargs):
        calls.append(os.kill(os.getpid(), signal.SIGTERM))
        return read(*args, **kwargs)

    monkeypatch.setattr(BiLanguageModel, "read_windows", killed)
    with pytest.raises(Interrupted, match="nothing was kept") as caught:
        make(corpus, tmp_path / "run", steps=5).run()
    assert caught.value.signal_number == signal.SIGTERM and calls == []


def test_a_signal_ends_it_after_a_checkpoint(corpus, tmp_path):
    trainer = make(corpus, tmp_path / "run", steps=30)

    def report(figures):
        if figures["step"] == 4:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="from the checkpoint of step [45] with --resume"):
        trainer.run(report)
    assert signal.getsignal(signal.SIGINT) is before
    again = make(corpus, tmp_path / "run", steps=30)
    assert again.restore() and again.step == trainer.step in (4, 5)


def test_the_best_model_by_the_held_out_text_is_kept(corpus, tmp_path):
    (tmp_path / "heldout.txt").write_text("a b c d\ne f g h i\n")
    heldout = Corpus(tmp_path / "heldout.txt")
    trainer = make(corpus, tmp_path / "run", heldout=heldout, steps=40, evaluate_every=10)
    found = {}

    def report(figures):
        if "heldout" in figures:
            found[figures["step"]] = figures["heldout"]["perplexity"]
            assert figures["heldout"]["predictions"] == 11 and figures["heldout"]["unknown"] == 0

    assert trainer.run(report) == min(found.values()) and list(found) == [10, 20, 30, 40]
    kept = BiLanguageModel.from_pretrained(tmp_path / "run")
    result = evaluate(kept, heldout.sentences(), OPTIONS.batch_size, OPTIONS.unroll_steps)
    assert result["perplexity"] == pytest.approx(min(found.values()), rel=1e-5)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names == {
        "options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt", "checkpoints", "logs"
    }  # fmt: skip
    (events,) = (tmp_path / "run/logs").iterdir()
    logged = {}
    for record in tf.data.TFRecordDataset(str(events)):
        event = tf.compat.v1.Event.FromString(record.numpy())
        for value in event.summary.value:
            assert value.metadata.plugin_data.plugin_name in ("scalars", "")
            logged.setdefault(value.tag, []).append(float(tf.make_ndarray(value.tensor)))
    assert len(logged["train/loss"]) == 40
    np.testing.assert_allclose(logged["heldout/perplexity"], list(found.values()), rtol=1e-5)


def test_a_signal_during_an_evaluation(corpus, tmp_path, monkeypatch):
    (tmp_path / "heldout.txt").write_text("a b c d\ne f g h i\n")
    heldout = Corpus(tmp_path / "heldout.txt")
    kwargs = {"heldout": heldout, "steps": 20, "evaluate_every": 10}
    best = make(corpus, tmp_path / "whole", **kwargs).run()
    trainer = make(corpus, tmp_path / "run", **kwargs)

    def interrupted(model, sentences, batch_size, unroll_steps, progress):
        os.kill(os.getpid(), signal.SIGTERM)
        progress(3)
        raise AssertionError("it went on")

    with monkeypatch.context() as patch:
        patch.setattr("keras_elmo.training.trainer.evaluate", interrupted)
        with pytest.raises(Interrupted, match="from the checkpoint of step 10"):
            trainer.run()
    again = make(corpus, tmp_path / "run", **kwargs)
    assert again.restore() and (again.step, again.evaluated) == (10, 0)
    assert again.run() == pytest.approx(best, rel=1e-6) and again.evaluated == 20


def test_another_held_out_text_has_another_best(corpus, tmp_path):
    (tmp_path / "easy.txt").write_text("a b c d e f\n")
    (tmp_path / "hard.txt").write_text("x a w b v c\nu d t e s f\n")
    easy, hard = (Corpus(tmp_path / f"{name}.txt") for name in ("easy", "hard"))
    make(corpus, tmp_path / "run", heldout=easy, steps=5).run()
    again = make(corpus, tmp_path / "run", heldout=hard, steps=10)
    assert again.restore() and again.best == np.inf
    again = make(corpus, tmp_path / "run", heldout=easy, steps=10)
    assert again.restore() and again.best < np.inf


def test_a_run_made_shorter_leaves_a_model(corpus, tmp_path):
    trainer = make(corpus, tmp_path / "run", steps=30)

    def report(figures):
        if figures["step"] == 4:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        trainer.run(report)
    assert not (tmp_path / "run/weights.hdf5").exists()
    again = make(corpus, tmp_path / "run", steps=3)
    assert again.restore()
    again.run()
    assert again.step in (4, 5) and (tmp_path / "run/weights.hdf5").exists()
    falling = dataclasses.replace(OPTIONS, schedule="linear")
    make(corpus, tmp_path / "falls", falling, steps=4).run()
    with pytest.raises(ValueError, match="steps: 4 before, 8 now"):
        make(corpus, tmp_path / "falls", falling, steps=8).restore()


def test_the_state_of_evaluation_is_carried_on(corpus):
    model = make(corpus).model
    results = [
        evaluate(model, corpus.sentences(), batch_size=1, unroll_steps=steps)
        for steps in (1, 7, 100)
    ]
    assert results[0]["predictions"] == sum(corpus.counts())
    for result in results[1:]:
        assert result == pytest.approx(results[0], rel=1e-5)
    lanes = evaluate(model, corpus.sentences(), batch_size=8)
    assert lanes["predictions"] == results[0]["predictions"]
    assert lanes["perplexity"] == pytest.approx(results[0]["perplexity"], rel=0.05)
    with pytest.raises(ValueError, match="no sentence"):
        evaluate(model, [])


@pytest.mark.parametrize(
    "change, message",
    [
        ({"batch_size": 400}, r"must fill a batch, 1 x 400 lanes of 5 tokens, 2,000"),
        ({"num_negatives": 14}, "must be at most 13, half of the 27 words"),
    ],
)
def test_what_cannot_be_trained_is_refused_at_once(corpus, change, message):
    with pytest.raises(ValueError, match=message):
        make(corpus, options=dataclasses.replace(OPTIONS, **change))


def test_a_corpus_of_one_short_line_and_a_short_held_out_text(corpus, tmp_path):
    (tmp_path / "one.txt").write_text("a b\n")
    one = Corpus(tmp_path / "one.txt")
    with pytest.raises(ValueError, match="Received: 2 tokens in 1 sentences"):
        make(one)
    with pytest.raises(ValueError, match="held-out text must have at least a window, 5 tokens"):
        make(corpus, heldout=one)


def test_another_run_is_not_gone_on_with(corpus, tmp_path):
    make(corpus, tmp_path / "run", steps=2).run()
    assert make(corpus, tmp_path / "run", steps=9).restore()  # longer is no other run
    options = dataclasses.replace(OPTIONS, dropout=0.5, unroll_steps=6)
    config = dataclasses.replace(CONFIG, units=16)
    with pytest.raises(ValueError, match="of another run") as error:
        make(corpus, tmp_path / "run", options, config).restore()
    for change in ("dropout: 0.2 before, 0.5 now", "unroll_steps: 5 before", "lstm: "):
        assert change in str(error.value)
    assert not make(corpus, tmp_path / "other").restore()


def test_a_full_disk_at_a_checkpoint(corpus, tmp_path, monkeypatch):
    trainer = make(corpus, tmp_path / "run", steps=9, checkpoint_every=3)
    save = tf.train.CheckpointManager.save

    def fail(self, number=None, **kwargs):
        if number == 6:
            raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")
        return save(self, number, **kwargs)

    monkeypatch.setattr(tf.train.CheckpointManager, "save", fail)
    with pytest.raises(OSError, match="step 6 could not be written.*No space left.*--resume"):
        trainer.run()
    monkeypatch.undo()
    again = make(corpus, tmp_path / "run", steps=9)
    assert again.restore() and again.step == 3


def test_a_loss_that_is_no_number_ends_it(corpus):
    trainer = make(corpus, steps=5)
    trainer.model.softmax.bias.assign(tf.fill([len(WORDS)], np.nan))
    with pytest.raises(FloatingPointError, match="At step 1 the loss is nan"):
        trainer.run()


def test_learning_rates():
    options = TrainingOptions(learning_rate=0.5, warmup_steps=5, schedule="linear")
    rates = [options.rate(step, 15) for step in (0, 4, 5, 10, 14)]
    assert rates == pytest.approx([0.1, 0.5, 0.5, 0.25, 0.05])
    cosine = TrainingOptions(learning_rate=1.0, schedule="cosine")
    assert [cosine.rate(k, 10) for k in (0, 5)] == pytest.approx([1.0, 0.5])
    assert TrainingOptions().rate(10**6, 10) == 0.2


def test_an_epoch_in_the_order_of_the_file(corpus):
    options = dataclasses.replace(OPTIONS, shuffle=False, batch_size=1, epochs=1)
    trainer = make(corpus, options=options)
    batches = list(trainer._batches(0).take(trainer.steps))
    read = np.concatenate([batch["targets"][0, 0] for batch in batches])
    ids = trainer.model.vocabulary.ids
    expected = [ids.get(word, 2) for s in corpus.sentences() for word in [*s, "</S>"]]
    assert read[: len(expected)].tolist() == expected


def test_options_out_of_range():
    with pytest.raises(ValueError) as error:
        TrainingOptions(
            batch_size=0, dropout=1.0, learning_rate=-1, schedule="step", dtype="float16", epochs=0
        )
    for name in ("batch_size", "dropout", "learning_rate", "schedule", "dtype", "epochs"):
        assert f"`{name}`" in str(error.value)


@pytest.mark.parametrize("zero_starts", [True, False])
def test_sentences_that_begin_a_window_begin_from_zeros(corpus, zero_starts):
    options = dataclasses.replace(OPTIONS, zero_starts=zero_starts, dropout=0.0)
    trainer = make(corpus, options=options)
    batches = trainer.stream.training(corpus, start=1).take(50)
    batch = next(b for b in batches if 0 < np.sum(b["begins"]) < 4)
    begins = batch["begins"].numpy()
    results = []
    for state in (trainer.model.bilm.zero_state(4), [tf.ones((4, n)) for n in (6, 12) * 4]):
        *_, after = trainer._train_step(batch, state, tf.constant(0.0), tf.constant(0.0))
        results.append(after[0].numpy())
    is_same = np.all(np.isclose(*results, atol=1e-6), axis=1)
    assert is_same.tolist() == (begins & zero_starts).tolist()


def test_from_scratch_as_far_as_the_original(shared):
    """bilm-tf came to 56.29 in the same steps, on the same text in the same order."""
    folder = shared / "fixtures/bilm-checkpoint"
    config, known, _ = read_options(folder / "checkpoint/options.json")
    heldout = Corpus(folder / "heldout.txt")
    found = []
    for seed in (1, 2, 3):
        options = TrainingOptions(**known, seed=seed, shuffle=False)
        model = BiLanguageModel(config, folder / "vocab.txt")
        model.initialize(seed)
        Trainer(model, Corpus(folder / "train.txt"), options, steps=300).run()
        found.append(evaluate(model, heldout.sentences(), batch_size=1)["perplexity"])
    print(found)  # for README, with `pytest -s`
    assert np.mean(found) < 1.05 * 56.29
