import contextlib
import os
import re
import shutil
import signal
import sys

import numpy as np
import pytest

from keras_elmo import BiLanguageModel, training
from keras_elmo.cli import train
from keras_elmo.cli.main import main
from keras_elmo.files.atomic import locked_folder
from keras_elmo.process import progress
from keras_elmo.process.progress import ProgressDisplay
from keras_elmo.training.training_step import TrainingStep
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.weights import presets

TRAIN = ["train", "--train", "train-*", "--vocab", "vocab.txt", "--options", "options.json"]


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """The folder of a whole run, and what the command wrote to standard error."""
    folder = tmp_path_factory.mktemp("run")
    arguments = ["-o", str(folder / "model"), "--heldout", "heldout.txt", "--evaluate-every", "40"]
    stderr = folder / "stderr"
    with pytest.MonkeyPatch.context() as patch, open(stderr, "w") as file:
        patch.chdir(corpus)
        patch.setattr(sys, "stderr", file)
        status = main([*TRAIN, *arguments, "--resume"])
    shown = stderr.read_text()
    assert status == 0, shown
    return folder / "model", shown


@pytest.fixture
def run_copy(run, corpus_copy):
    """A working folder with the corpus and `model`, a copy of the run's folder."""
    shutil.copytree(run[0], corpus_copy / "model")
    return corpus_copy


def test_run_is_told_on_standard_error(run):
    _, shown = run
    lines = shown.splitlines()
    text = r"training text: 120 sentences, \d+ tokens, 0.0% of them not among the 22 words"
    assert re.match(text, lines[1]) and lines.index("tracing the first step ...") > 1
    assert "no checkpoint yet: from step 0" in lines
    (work,) = re.findall(r"\nto train: (\d+) steps of 12 tokens, ([\d,]+) tokens in all", shown)
    assert shown.index("to train: ") < shown.index("tracing the first step ...")
    (share,) = re.findall(r"held-out text: 6 sentences, \d+ tokens, ([\d.]+)% of them not", shown)
    assert float(share) > 0
    unknown = f"{share}% of its words unknown"
    evaluated = re.findall(rf"step (\d+): held-out perplexity ([\d.]+) \(.*\), {unknown}\n", shown)
    (end,) = re.findall(rf"model: (\d+) steps, held-out perplexity ([\d.]+), {unknown}\n", shown)
    assert [step for step, _ in evaluated] == ["40", "80", end[0]]
    assert work == (end[0], f"{12 * int(end[0]):,}")
    assert end[1] == min((value for _, value in evaluated), key=float)


def test_steps_are_shown_with_the_mean_of_the_loss(capsys):
    with ProgressDisplay("training", 3, "steps", "tokens", line_every=2) as display:
        report = train.step_report(display, tokens_per_step=640)
        report({"step": 1, "loss": 1.0})
        result = {"perplexity": 12.0, "forward": 11.0, "backward": 13.0, "oov_rate": 0.25}
        report({"step": 2, "loss": 1.0, "evaluation": result})
        report({"step": 3, "loss": 2.0})
    second, evaluation, last = capsys.readouterr().err.splitlines()
    assert second.endswith(" tokens/s, 0:00:01 left, loss 1.000, training perplexity 2.7")
    assert evaluation == (
        "step 2: held-out perplexity 12.00 (forward 11.00, backward 13.00), 25.0% of its words "
        "unknown"
    )
    assert last.startswith("training: 3/3 steps, ")
    assert last.endswith(", loss 1.020, training perplexity 2.8")


def test_the_first_steps_say_what_a_run_costs(capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with ProgressDisplay("training", 1000, "steps", "tokens", start=10, line_every=100) as display:
        report = train.step_report(display, tokens_per_step=640)
        for step in range(11, 31):
            report({"step": step, "loss": 1.0})
            now[0] += 4
    line, _ = capsys.readouterr().err.splitlines()  # after three intervals of four seconds
    start = "estimate from 4 steps: 1:05:44 for the other 986, at 160 tokens/s and without "
    (memory,) = re.findall(f"^{start}evaluations; memory: at most (.*) GB until now$", line)
    with open("/proc/self/status") as file:
        (peak,) = re.findall(r"VmHWM:\s*(\d+) kB", file.read())
    assert float(memory) == pytest.approx(1024 * int(peak) / 1e9, abs=0.11)


def test_no_perplexity_is_too_large(capsys):
    with ProgressDisplay("training", 1, "steps") as display:
        train.step_report(display, 640)({"step": 1, "loss": 1e6})
    assert "loss 1000000.000, training perplexity 10,142," in capsys.readouterr().err


def test_corpus_is_described_with_its_warnings(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("keras_elmo.training.corpus._MAX_SENTENCE_TOKENS", 3)
    (tmp_path / "text.txt").write_text("a b\na b c d\n")
    words = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c"])
    text = training.Corpus(tmp_path / "text.txt")
    assert train.describe_corpus("training", text, words, True) == pytest.approx(1 / 6)
    first, warning, last = capsys.readouterr().err.splitlines()
    assert first == "reading the training text ..."
    assert warning.startswith("warning: ") and "line 2: 4 tokens" in warning
    assert last == (
        "training text: 2 sentences, 6 tokens, 16.7% of them not among the 6 words of the "
        "vocabulary"
    )
    assert train.describe_corpus("training", text, words, False) == pytest.approx(1 / 6)
    assert capsys.readouterr() == ("", "")


def test_best_model_is_in_the_folder(run, run_copy, capsys):
    """And `evaluate` measures what `train` did."""
    best = float(re.findall(r"model: \d+ steps, held-out perplexity ([\d.]+)", run[1])[0])
    assert (
        main(["evaluate", "model", "heldout.txt", "--batch-size", "4", "--unroll-steps", "3"]) == 0
    )
    out = capsys.readouterr().out
    (measured,) = re.findall(r"perplexity ([\d.]+) \(forward", out)
    assert float(measured) == pytest.approx(best, abs=0.006)
    assert re.search(r" predictions, [\d.]+% of the words unknown\n$", out)


def test_a_run_is_not_begun_over(run_copy, capsys):
    before = (run_copy / "model/weights.hdf5").read_bytes()
    assert main([*TRAIN, "-o", "model"]) == 2
    assert "resume it with --resume" in capsys.readouterr().err
    assert main([*TRAIN, "-o", "model", "--resume", "--seed", "1"]) == 2
    assert "seed: 0 before, 1 now" in capsys.readouterr().err
    # Nor is a model that is no run written over.
    shutil.rmtree("model/checkpoints")
    for resume in ([], ["--resume"]):
        assert main([*TRAIN, "-o", "model", *resume]) == 2
        assert "holds a model, but no checkpoint" in capsys.readouterr().err
    assert (run_copy / "model/weights.hdf5").read_bytes() == before


def test_another_number_of_steps_is_said(run_copy, run, capsys, trainers):
    (done,) = re.findall(r"model: (\d+) steps", run[1])
    assert main([*TRAIN, "-o", "model", "--resume", "--steps", "2000"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert f"resuming from step {done} of 2,000" in lines
    (warning,) = [line for line in lines if line.startswith("warning: ")]
    assert f"was begun with {done} steps, and now ends after 2,000. " in warning
    assert main([*TRAIN, "-o", "model", "--resume", "--steps", "2"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert f"the run is at step {done} already; nothing is left to train" in lines
    assert any(line.startswith("warning: ") for line in lines)


def test_run_that_is_done_has_nothing_left_to_do(run_copy, capsys):
    assert main([*TRAIN, "-o", "model", "--resume", "--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.fixture
def trainers(monkeypatch):
    """The trainers that the command made; nothing is trained."""
    made = []
    monkeypatch.setattr(training.Trainer, "run", lambda self, report: made.append(self))
    return made


@pytest.mark.parametrize("has_softmax", [True, False])
def test_weights_of_another_model_are_where_it_begins(run_copy, trainers, has_softmax):
    first = BiLanguageModel.from_pretrained("model")
    if not has_softmax:
        os.remove("model/softmax.hdf5")
    assert main([*TRAIN, "-o", "tuned", "--init", "model", "--quiet"]) == 0
    (trainer,) = trainers
    variables = [v.numpy() for v in first.bilm.variables]
    assert len(variables) > 1
    for variable, value in zip(trainer.model.bilm.variables, variables, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    is_same = [
        np.array_equal(v.numpy(), w.numpy())
        for v, w in zip(trainer.model.softmax.variables, first.softmax.variables, strict=True)
    ]
    assert is_same == [has_softmax] * 2


def test_options_that_are_typed_come_before_those_of_the_file(corpus_copy, trainers):
    """And a default of the command is one of the library."""
    typed = ["--optimizer", "adam", "--no-shuffle", "--dropout", "0", "--checkpoint-every", "7"]
    assert main([*TRAIN, "-o", "model", "--quiet", *typed]) == 0
    (trainer,) = trainers
    options = trainer.options
    assert (options.optimizer, options.learning_rate, options.shuffle) == ("adam", 0.001, False)
    assert (options.dropout, options.batch_size, options.epochs) == (0, 4, 2)
    assert options.schedule == training.TrainingOptions().schedule
    assert (trainer.checkpoint_every, trainer.evaluate_every) == (7, 2000)


def test_default_shape_is_that_of_the_published_small_model():
    size = 4 * sum(train.SMALL.num_parameters().values())
    assert size == presets.PRESETS["small"].weights.min_size


def test_going_on_from_the_original_trainers_checkpoint(shared, tmp_path, capsys):
    folder = shared / "fixtures/bilm-checkpoint"
    arguments = ["--train", str(folder / "train.txt"), "--vocab", str(folder / "vocab.txt")]
    arguments += ["--batch-size", "8", "--unroll-steps", "4", "--num-negatives", "64"]
    arguments += ["--learning-rate", "0.05", "--steps", "6", "-o", str(tmp_path / "tuned")]
    assert main(["train", *arguments, "--init", str(folder / "checkpoint")]) == 0
    shown = capsys.readouterr().err
    (value,) = re.findall(r"6/6 steps, .* loss [\d.]+, training perplexity ([\d.]+)\n", shown)
    # Without the weights it would be near the number of words, 1,503.
    assert 10 < float(value) < 100
    tuned = BiLanguageModel.from_pretrained(tmp_path / "tuned")
    first = BiLanguageModel.from_pretrained(folder / "checkpoint", folder / "vocab.txt")
    assert len(tuned.bilm.variables) > 1
    for variable, before in zip(tuned.bilm.variables, first.bilm.variables, strict=True):
        difference = np.abs(variable.numpy() - before.numpy()).max()
        assert 0 < difference < 0.5


def test_signal_while_it_traces_ends_it_after_the_trace(corpus_copy, capsys, monkeypatch):
    monkeypatch.setattr(TrainingStep, "trace", lambda *_: signal.raise_signal(signal.SIGTERM))
    assert main([*TRAIN, "-o", "model", "--steps", "2"]) == 143
    assert capsys.readouterr().err.endswith("keras-elmo: terminated; nothing was kept\n")


def test_two_runs_do_not_write_one_folder(corpus_copy, capsys, monkeypatch):
    os.mkdir("model")
    with locked_folder("model"):  # as another process has it
        assert main([*TRAIN, "-o", "model", "--steps", "2", "-q"]) == 2
    assert "model must not be written by two processes at once" in capsys.readouterr().err
    assert os.listdir("model") == []

    @contextlib.contextmanager
    def locked_by_another_run_that_ends(folder):
        with open(f"{folder}/options.json", "w") as file:
            file.write("of the other run")
        yield

    monkeypatch.setattr(train, "locked_folder", locked_by_another_run_that_ends)
    assert main([*TRAIN, "-o", "model", "--steps", "2", "-q"]) == 2
    assert "model holds a model, but no checkpoint" in capsys.readouterr().err
    assert os.listdir("model") == ["options.json"]
