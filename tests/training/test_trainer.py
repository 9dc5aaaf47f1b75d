import dataclasses
import math
import os
import shutil
import signal

import numpy as np
import pytest
import tensorflow as tf
from training.letters import OPTIONS, make_model, make_trainer, run_losses, values_of, variables_of

from keras_elmo import BiLanguageModel
from keras_elmo.process.signals import Interrupted
from keras_elmo.training import Corpus, Trainer, TrainingOptions, evaluate, read_options
from keras_elmo.training.events import read_event_log


def test_a_signal_while_it_traces_ends_it_after_the_only_trace(corpus, tmp_path, monkeypatch):
    read_windows, calls = BiLanguageModel.read_windows, []

    def killed(*args, **kwargs):
        if not calls:
            os.kill(os.getpid(), signal.SIGTERM)
        calls.append("TensorFlow's C++ is on the stack, and the handler did not raise")
        return read_windows(*args, **kwargs)

    monkeypatch.setattr(BiLanguageModel, "read_windows", killed)
    trainer = make_trainer(corpus, tmp_path / "run", steps=5, is_new=True)
    with pytest.raises(Interrupted, match="nothing was kept") as caught:
        trainer.run()
    assert caught.value.signal_number == signal.SIGTERM and len(calls) == 1
    trainer.run()  # with batches of other numbers of words
    assert trainer.step == 5 and len(calls) == 1


def test_it_learns(corpus):
    options = dataclasses.replace(OPTIONS, learning_rate=1.0)
    trainer = make_trainer(corpus, options=options, steps=250)
    lanes = options.batch_size, options.unroll_steps
    before = evaluate(trainer.model, corpus.sentences(), *lanes)["perplexity"]
    losses = run_losses(trainer)
    assert not trainer.restore()  # It has no folder.
    after = evaluate(trainer.model, corpus.sentences(), *lanes)["perplexity"]
    assert len(losses) == 250 and np.mean(losses[-10:]) < np.mean(losses[:10]) - 0.3
    assert 20 < before < 40 and after < before * 0.8


def test_a_resumed_run_is_the_run_it_would_have_been(corpus, tmp_path):
    whole = make_trainer(corpus, tmp_path / "whole", steps=24)
    losses = []

    def report(metrics):
        losses.append(metrics["loss"])
        if metrics["step"] in (1, 13, 20):
            whole.save()
            shutil.copytree(tmp_path / "whole", tmp_path / f"{metrics['step']}")

    whole.run(report)
    expected = values_of(whole)
    for broken_at in (1, 13, 20):
        resumed = make_trainer(corpus, tmp_path / f"{broken_at}", steps=24)
        for variable in variables_of(resumed):
            variable.assign_add(0.5 + variable)  # only the checkpoint brings them back
        assert resumed.restore() and resumed.step == broken_at
        np.testing.assert_allclose(run_losses(resumed), losses[broken_at:], atol=1e-6)
        for found, wanted in zip(values_of(resumed), expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_signal_ends_it_after_a_checkpoint(corpus, tmp_path):
    def report(metrics):
        if metrics["step"] == 4:
            os.kill(os.getpid(), signal.SIGINT)

    trainer = make_trainer(corpus, tmp_path / "run", steps=30)
    with pytest.raises(Interrupted, match="from the checkpoint of step [45] with --resume"):
        trainer.run(report)
    again = make_trainer(corpus, tmp_path / "run", steps=30)
    assert again.restore() and again.step == trainer.step in (4, 5)
    assert not (tmp_path / "run/weights.hdf5").exists()
    shorter = make_trainer(corpus, tmp_path / "run", steps=3)
    with pytest.warns(UserWarning, match="begun with 30 steps, and now ends after 3"):
        assert shorter.restore()
    shorter.run()
    assert shorter.step == again.step and (tmp_path / "run/weights.hdf5").exists()


@pytest.fixture
def heldout(tmp_path):
    (tmp_path / "heldout.txt").write_text("a b c d\ne f g h i\n")
    return Corpus(tmp_path / "heldout.txt")


def test_the_held_out_text_is_evaluated(corpus, heldout, tmp_path):
    trainer = make_trainer(corpus, tmp_path / "run", heldout=heldout, steps=20, evaluate_every=10)
    found = {}

    def report(metrics):
        names = {"step", "loss", "forward", "backward", "perplexity", "norm", "learning_rate"}
        assert set(metrics) - {"evaluation"} == names
        if "evaluation" in metrics:
            result = metrics["evaluation"]
            found[metrics["step"]] = result["perplexity"]
            assert result["predictions"] == 11 and result["oov_rate"] == 0

    assert trainer.run(report) == min(found.values()) and list(found) == [10, 20]
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        "README.md", "options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt", "checkpoints",
        "logs",
    }  # fmt: skip
    log = read_event_log(tmp_path / "run")
    assert len(log["train/loss"]) == 20
    assert dict(log["heldout/perplexity"]) == pytest.approx(found, rel=1e-6)


def test_the_best_model_by_the_held_out_text_is_kept(corpus, heldout, tmp_path, monkeypatch):
    perplexities, values = [9.0, 7.0, 8.0, 7.5], []

    def script(model, *_):
        values.append([variable.numpy() for variable in model.variables])
        return {"perplexity": perplexities[len(values) - 1]}

    monkeypatch.setattr("keras_elmo.training.trainer.evaluate", script)
    trainer = make_trainer(corpus, tmp_path / "run", heldout=heldout, steps=8, evaluate_every=2)
    assert trainer.run() == 7.0 and len(values) == 4
    kept = BiLanguageModel.from_pretrained(tmp_path / "run")
    for variable, best, last in zip(kept.variables, values[1], values[3], strict=True):
        np.testing.assert_array_equal(variable.numpy(), best)
        assert not np.array_equal(best, last)


def test_a_signal_during_an_evaluation(corpus, heldout, tmp_path, monkeypatch):
    kwargs = {"heldout": heldout, "steps": 4, "evaluate_every": 2}
    best = make_trainer(corpus, tmp_path / "whole", **kwargs).run()
    trainer = make_trainer(corpus, tmp_path / "run", **kwargs)

    def interrupted(model, sentences, batch_size, unroll_steps, progress):
        os.kill(os.getpid(), signal.SIGTERM)
        progress(3)
        raise AssertionError("it went on")

    with monkeypatch.context() as patch:
        patch.setattr("keras_elmo.training.trainer.evaluate", interrupted)
        with pytest.raises(Interrupted, match="from the checkpoint of step 2"):
            trainer.run()
    again = make_trainer(corpus, tmp_path / "run", **kwargs)
    assert again.restore() and (again.step, again.last_evaluation_step) == (2, 0)
    assert again.run() == pytest.approx(best, rel=1e-6) and again.last_evaluation_step == 4


def test_another_held_out_text_has_another_best(corpus, heldout, tmp_path):
    (tmp_path / "hard.txt").write_text("x a w b v c\nu d t e s f\n")
    trainer = make_trainer(corpus, tmp_path / "run", heldout=heldout)
    trainer.best_perplexity, trainer.last_evaluation_step = 5.0, 2
    trainer.save()
    for text, best in (Corpus(tmp_path / "hard.txt"), (math.inf, 0)), (heldout, (5.0, 2)):
        again = make_trainer(corpus, tmp_path / "run", heldout=text)
        assert again.restore() and (again.best_perplexity, again.last_evaluation_step) == best


@pytest.mark.parametrize("name", ["corpus", "steps", "checkpoint_every", "evaluate_every"])
def test_what_cannot_be_trained_is_refused_at_once(corpus, heldout, name):
    arguments = {"corpus": heldout} if name == "corpus" else {"corpus": corpus, name: 0}
    with pytest.raises(ValueError, match=name):
        Trainer(make_model(), options=OPTIONS, **arguments)


def test_a_loss_that_is_nan_ends_it(corpus):
    trainer = make_trainer(corpus, steps=5)
    bias = trainer.model.softmax.bias
    bias.assign(tf.fill(bias.shape, np.nan))
    with pytest.raises(FloatingPointError, match="At step 1 the loss is nan"):
        trainer.run()


def test_an_epoch_is_read_once_in_the_order_of_the_file(corpus):
    options = dataclasses.replace(OPTIONS, shuffle=False, batch_size=1, epochs=1)
    trainer, targets = Trainer(make_model(), corpus, options), []

    def record(batch, state, *_):
        targets.extend(batch["targets"][0, 0].numpy())
        return tf.ones(2), tf.ones(()), state

    record.trace = lambda *_: None
    trainer.training_step = record
    trainer.run()
    ids = trainer.model.vocabulary.ids
    expected = [ids.get(word, 2) for s in corpus.sentences() for word in [*s, "</S>"]]
    assert targets[: len(expected)] == expected and 0 <= len(targets) - len(expected) < 5


@pytest.mark.slow
def test_from_scratch_as_far_as_the_original(shared):
    """bilm-tf came to 56.29 in the same steps, on the same text in the same order.

    `test_training_step.py` finds a step that computes something else at once.
    """
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
