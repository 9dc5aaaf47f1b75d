import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from keras_elmo import BiLanguageModel
from keras_elmo.files.atomic import locked_folder
from keras_elmo.process.progress import ProgressBar
from keras_elmo.training import LazyAdam
from keras_elmo.training.checkpoints import checkpoint_names
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo_cli import train
from keras_elmo_cli.main import main

TRAIN = ["train", "--train", "train-*", "--vocab", "vocab.txt", "--options", "options.json"]


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
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
def run_copy(trained, corpus_copy):
    """A working folder with the corpus and `model`, a copy of the run's folder."""
    shutil.copytree(trained[0], corpus_copy / "model")
    return corpus_copy


def test_run_is_told_on_standard_error(trained):
    folder, shown = trained
    metrics = ["backward", "forward", "loss", "perplexity"]
    columns = ["epoch", *metrics, "step", *(f"val_{name}" for name in metrics)]
    assert (folder / "log.csv").read_text().splitlines()[0].split(",") == columns
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


def test_steps_are_shown_with_the_mean_of_the_loss(no_delay, capsys):
    with ProgressBar("training", 3, "steps") as bar:
        report = train.step_report(bar, tokens_per_step=640)
        for step, loss, perplexity in [(1, 1.0, 2.72), (3, 1.5, 4.48)]:
            report(step, {"loss": loss, "perplexity": perplexity})
    err = capsys.readouterr().err
    last = err.split("\r")[-1]
    assert "3/3" in last and ", loss 1.500, training perplexity 4.5]" in last


def test_the_first_steps_say_what_a_run_costs(no_delay, capsys, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(train.time, "monotonic", lambda: now[0])
    with ProgressBar("training", 1000, "steps", initial=10) as bar:
        report = train.step_report(bar, tokens_per_step=640)
        for step in range(11, 31):
            report(step, {"loss": 1.0, "perplexity": 2.7})
            now[0] += 4
    start = "estimate from 3 steps: 1:05:44 for the other 986, at 160 tokens/s and without "
    err = capsys.readouterr().err  # after three intervals of four seconds
    (memory,) = re.findall(f"\r{start}evaluations; memory: at most (.*) GB until now\n", err)
    with open("/proc/self/status") as file:
        (peak,) = re.findall(r"VmHWM:\s*(\d+) kB", file.read())
    assert float(memory) == pytest.approx(1024 * int(peak) / 1e9, abs=0.11)


def test_a_run_is_not_begun_over(run_copy, run):
    before = (run_copy / "model/weights.hdf5").read_bytes()
    arguments = (run_copy / "model/arguments.json").read_bytes()
    command = [*TRAIN, "-o", "model"]
    assert "resume it with --resume" in run(*command)[2]
    shown = run(*command, "--resume", "--seed", 1)[2]  # though the run is finished
    assert "seed: 0 before, 1 now" in shown and "nothing is left" not in shown
    assert (run_copy / "model/arguments.json").read_bytes() == arguments
    # Nor is a model that is no run written over.
    shutil.rmtree("model/checkpoints")
    for resume in ([], ["--resume"]):
        assert "holds a model, but no checkpoint" in run(*command, *resume)[2]
    assert (run_copy / "model/weights.hdf5").read_bytes() == before


def test_a_run_that_is_done_and_another_number_of_steps(run_copy, trained, run, fits):
    command = [*TRAIN, "-o", "model", "--resume"]
    for same in (command, ["train", "-o", "model", "--resume"]):  # whose arguments are kept
        assert run(*same, "--quiet") == (0, "", "")
    (done,) = re.findall(r"model: (\d+) steps", trained[1])
    assert fits == []
    lines = run("train", *command[-3:], "--steps", 2000)[2].splitlines()
    assert f"resuming from step {done} of 2,000" in lines and len(fits) == 1
    lines = run(*command, "--steps", 2)[2].splitlines()
    assert f"nothing is left to train: the run is at step {done}" in lines


@pytest.fixture
def fits(monkeypatch):
    """The models that the command trains, and the arguments of `fit`; nothing is trained."""
    made = []

    def fit(model, corpus, **kwargs):
        made.append((model, kwargs))

    monkeypatch.setattr(BiLanguageModel, "fit", fit)
    return made


def test_it_begins_from_another_model(corpus_copy, fits, run):
    """Which has its vocabulary, and perhaps a softmax."""
    first = BiLanguageModel("options.json", Vocabulary("vocab.txt"))
    first.save_pretrained("first")
    start = TRAIN.index("--vocab")
    without = TRAIN[:start] + TRAIN[start + 2 :]
    for has_softmax in (True, False):
        if not has_softmax:
            os.remove("first/softmax.hdf5")
        assert run(*without, "-o", "tuned", "--init", "first", "--quiet")[0] == 0
        model, _ = fits.pop()
        assert len(first.bilm.get_weights()) > 1
        pairs = zip(model.bilm.get_weights(), first.bilm.get_weights(), strict=True)
        assert all(np.array_equal(value, before) for value, before in pairs)
        is_same = np.array_equal(model.softmax.kernel, first.softmax.kernel)
        assert is_same == has_softmax


def test_options_that_are_typed_come_before_those_of_the_file(corpus_copy, fits):
    """And a default of the command is one of the library."""
    typed = ["--optimizer", "adam", "--no-shuffle", "--dropout", "0", "--checkpoint-every", "7"]
    assert main([*TRAIN, "-o", "model", "--quiet", *typed]) == 0
    ((model, kwargs),) = fits
    assert isinstance(model.optimizer, LazyAdam) and model.dropout == 0
    assert float(model.optimizer.learning_rate) == pytest.approx(0.001)
    assert (kwargs["batch_size"], kwargs["unroll_steps"], kwargs["shuffle"]) == (4, 3, False)
    backup = kwargs["callbacks"][0]
    assert (backup.save_freq, kwargs["steps_per_epoch"]) == (7, 1)  # 7 and 2,000 are steps of 1


def test_two_runs_do_not_write_one_folder(corpus_copy, run, monkeypatch):
    command = [*TRAIN, "-o", "model", "--steps", 2, "-q"]
    os.mkdir("model")
    with locked_folder("model"):  # as another process has it
        assert "model must not be written by two processes at once" in run(*command)[2]
    assert os.listdir("model") == []

    @contextlib.contextmanager
    def locked_by_another_run_that_ends(folder, reentrant):
        with open(f"{folder}/options.json", "w") as file:
            file.write("of the other run")
        yield

    monkeypatch.setattr("keras_elmo.files.atomic.locked_folder", locked_by_another_run_that_ends)
    assert "model holds a model, but no checkpoint" in run(*command)[2]
    assert os.listdir("model") == ["options.json"]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_digits(corpus_copy):
    """kill -9 at a random step, then --resume, against a run that was left alone."""
    command = [sys.executable, "-m", "keras_elmo", *TRAIN]
    command += ["--steps", "400", "--checkpoint-every", "20", "-o"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": corpus_copy}
    subprocess.run([*command, "whole"], check=True, **quiet)
    with subprocess.Popen([*command, "broken"], **quiet) as process:
        while not checkpoint_names(corpus_copy / "broken/checkpoints"):
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(random.uniform(0, 1.5))
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
    assert not (corpus_copy / "broken/weights.hdf5").exists()
    subprocess.run([*command, "broken", "--resume"], check=True, **quiet)
    models = [BiLanguageModel.from_pretrained(corpus_copy / name) for name in ("whole", "broken")]
    for variable, same in zip(*(model.variables for model in models), strict=True):
        np.testing.assert_allclose(variable.numpy(), same.numpy(), atol=1e-6)
