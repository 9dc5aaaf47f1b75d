"""`vocabulary`, `train`, `evaluate` and `convert` from end to end."""

import gzip
import json
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

from keras_elmo import BiLanguageModel, Elmo
from keras_elmo.cli.main import main

OPTIONS = {
    "lstm": {"dim": 12, "projection_dim": 6, "n_layers": 2, "cell_clip": 3, "proj_clip": 3,
             "use_skip_connections": True},
    "char_cnn": {"activation": "relu", "embedding": {"dim": 4}, "filters": [[1, 4], [2, 4]],
                 "max_characters_per_token": 50, "n_characters": 261, "n_highway": 1},
    "dropout": 0.1, "batch_size": 4, "unroll_steps": 5,
    "n_epochs": 2, "n_train_tokens": 99,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = [chr(97 + k) for k in range(20)]
    chance = random.Random(0)
    for name, number in [("train-0.txt", 60), ("train-1.txt", 60), ("heldout.txt", 5)]:
        lines = []
        for _ in range(number):
            start = chance.randrange(14)
            lines.append(" ".join(words[start : start + chance.randint(3, 6)]))
        (tmp_path / name).write_text("\n".join(lines))
    packed = gzip.compress((tmp_path / "train-1.txt").read_bytes())
    (tmp_path / "train-1.txt.gz").write_bytes(packed)
    (tmp_path / "train-1.txt").unlink()
    with open(tmp_path / "heldout.txt", "a") as file:
        file.write("\na b unheard-of d\n")
    (tmp_path / "options.json").write_text(json.dumps(OPTIONS))
    assert main(["vocabulary", "train-*", "-o", "vocab.txt", "--quiet"]) == 0
    return tmp_path


TRAIN = ["train", "--train", "train-*", "--vocab", "vocab.txt", "--options", "options.json"]


def test_from_text_to_vectors(folder, capsys):
    assert main([*TRAIN, "--heldout", "heldout.txt", "-o", "model", "--evaluate-every", "20"]) == 0
    shown = capsys.readouterr().err
    lines = shown.splitlines()
    text = r"training text: 120 sentences, \d+ tokens, 0.0% of them not among the 22 words"
    assert re.match(text, lines[1]) and lines.index("tracing the first step ...") > 1
    (share,) = re.findall(r"held-out text: 6 sentences, \d+ tokens, ([\d.]+)% of them not", shown)
    assert float(share) > 0
    unknown = f"{share}% of its words unknown"
    assert re.search(rf"step \d+: held-out perplexity [\d.]+ \(.*\), {unknown}\n", shown)
    (best,) = re.findall(rf"model: \d+ steps, held-out perplexity ([\d.]+), {unknown}\n", shown)
    # The best model is in the folder, and `evaluate` measures what `train` did.
    lanes = ["--batch-size", "4", "--unroll-steps", "5"]
    assert main(["evaluate", "model", "heldout.txt", *lanes]) == 0
    out = capsys.readouterr().out
    (measured,) = re.findall(r"perplexity ([\d.]+) \(forward", out)
    assert out.endswith(f" predictions, {share}% of the words unknown\n")
    assert float(measured) == pytest.approx(float(best), abs=0.006)
    assert Elmo.from_pretrained("model")(["a b c"])["elmo"].shape == (1, 3, 12)
    assert BiLanguageModel.from_pretrained("model").top_words("a b c", k=3)[1]["token"] == "b"
    # Once more, from where it ended: nothing is left to do.
    assert main([*TRAIN, "-o", "model", "--resume", "--quiet"]) == 0
    # And on from its weights.
    assert main([*TRAIN, "-o", "tuned", "--init", "model", "--steps", "3", "--quiet"]) == 0
    assert os.path.exists("tuned/softmax.hdf5")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["--num-negatives", "20"],
            "--num-negatives, the samples of the softmax, must be at most 11, half of the 22 words "
            "of the vocabulary; 0 is the full softmax. Received: --num-negatives 20",
        ),
        (["--dropout", "1.5"], "--dropout must be a number from 0, below 1. Received: 1.5"),
        (["--steps", "0"], "--steps must be at least 1"),
        (["--vocab", "bad.txt"], "special words <S>, </S>, <UNK> are missing"),
        (["--train", "empty.txt"], "There is no word in empty.txt"),
        (["--train", "nothing*"], "There is no file nothing"),
        (["--train", "heldout.txt", "--batch-size", "50"], "The corpus must fill a batch"),
        (["--heldout", "one.txt"], "held-out text must have at least a window"),
        (["--train", "latin.txt"], "latin.txt, line 1 must be UTF-8"),
        (["--options", "sized.json"], "n_tokens_vocab=99, but vocab.txt has 22 words"),
        (["--init", "nothing"], "There is no model 'nothing'"),
    ],
)
def test_bad_input_is_refused_before_it_begins(folder, capsys, arguments, message):
    (folder / "bad.txt").write_text("a\nb\n")
    (folder / "empty.txt").write_text("\n")
    (folder / "one.txt").write_text("a\n")
    (folder / "latin.txt").write_bytes(b"caf\xe9\n")
    (folder / "sized.json").write_text(json.dumps({**OPTIONS, "n_tokens_vocab": 99}))
    assert main([*TRAIN, "-o", "runs/model", *arguments]) == 2
    lines = capsys.readouterr().err.strip().split("\n")
    assert lines[-1].startswith("keras-elmo train: error: ") and message in lines[-1]
    assert not os.path.exists("runs")


def test_a_run_is_not_begun_over(folder, capsys):
    assert main([*TRAIN, "-o", "model", "--steps", "2", "--quiet"]) == 0
    assert main([*TRAIN, "-o", "model", "--steps", "2"]) == 2
    assert "go on with --resume" in capsys.readouterr().err
    # Nor is a model that is no run written over.
    shutil.rmtree("model/checkpoints")
    for resume in ([], ["--resume"]):
        assert main([*TRAIN, "-o", "model", *resume]) == 2
        assert "holds a model, but no checkpoint" in capsys.readouterr().err
    shutil.rmtree("model")
    assert main([*TRAIN, "-o", "model", "--steps", "2", "--resume"]) == 0
    assert "no checkpoint yet: from step 0" in capsys.readouterr().err
    assert main([*TRAIN, "-o", "model", "--resume", "--seed", "1"]) == 2
    assert "seed: 0 before, 1 now" in capsys.readouterr().err


def test_the_original_trainers_model(shared, tmp_path, capsys):
    folder = shared / "fixtures/bilm-checkpoint"
    model, vocabulary = str(folder / "checkpoint"), ["--vocab", str(folder / "vocab.txt")]
    text = str(folder / "heldout.txt")
    assert main(["evaluate", model, text, *vocabulary, "--batch-size", "1"]) == 0
    out = capsys.readouterr().out
    (value,) = re.findall(r"^perplexity ([\d.]+) .*, 1,605 predictions, .*% .* unknown\n$", out)
    expected = json.loads((folder / "perplexity.json").read_text())["perplexity"]
    assert float(value) == pytest.approx(expected, abs=0.01)
    assert main(["convert", model, str(tmp_path / "m"), *vocabulary]) == 0
    assert "softmax.hdf5, vocab.txt, weights.hdf5" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "m"), text, "--batch-size", "1"]) == 0
    assert capsys.readouterr().out == out
    assert main(["convert", model, str(tmp_path / "m"), *vocabulary]) == 2
    assert "give --overwrite" in capsys.readouterr().err


def test_going_on_from_the_original_trainers_checkpoint(shared, tmp_path):
    folder = shared / "fixtures/bilm-checkpoint"
    files = {"--train": "train.txt", "--heldout": "heldout.txt", "--vocab": "vocab.txt"}
    arguments = [part for key, name in files.items() for part in (key, str(folder / name))]
    options = ["--batch-size", "8", "--num-negatives", "64", "--learning-rate", "0.05"]
    run = ["--steps", "20", "-o", str(tmp_path / "tuned"), "--quiet"]
    assert main(["train", *arguments, "--init", str(folder / "checkpoint"), *options, *run]) == 0
    tuned = BiLanguageModel.from_pretrained(tmp_path / "tuned")
    lines = (folder / "heldout.txt").read_text().splitlines()
    first = BiLanguageModel.from_pretrained(folder / "checkpoint", folder / "vocab.txt")
    perplexities = [model.perplexity(lines)["perplexity"] for model in (first, tuned)]
    # Without the weights it would be near the number of words, 1,503.
    assert perplexities[1] < 1.02 * perplexities[0] and perplexities[1] != perplexities[0]


def test_what_is_no_checkpoint(folder, capsys):
    assert main(["convert", "nothing", "m"]) == 2
    assert "must be a folder with a TensorFlow checkpoint" in capsys.readouterr().err


def test_text_is_checked_before_it_is_measured(folder, capsys):
    assert main([*TRAIN, "-o", "model", "--steps", "2", "--quiet"]) == 0
    (folder / "latin.txt").write_bytes(b"ok\ncaf\xe9\n")
    assert main(["evaluate", "model", "latin.txt"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("keras-elmo evaluate: error: latin.txt, line 2 must be UTF-8")
    assert "`iconv -f latin1 -t utf-8`" in error
    os.remove("model/vocab.txt")
    for arguments, message in [
        (["nosuch", "heldout.txt"], "There is no folder nosuch; MODEL must be one that"),
        (["model", "heldout.txt"], "There is no model/vocab.txt; name the vocabulary with --vocab"),
        (["model", "nothing*", "--vocab", "vocab.txt"], "There is no file nothing*"),
        (["model", "heldout.txt", "--vocab", "no.txt"], "directory: 'no.txt'"),
        (["model", "heldout.txt", "--batch-size", "0"], "--batch-size must be an integer"),
    ]:
        assert main(["evaluate", *arguments]) == 2
        assert message in capsys.readouterr().err
    assert main(["vocabulary", "heldout.txt", "-o", "heldout.txt"]) == 2
    assert "a file of its own" in capsys.readouterr().err
    assert len((folder / "heldout.txt").read_text().splitlines()) == 6


def test_vocabulary_is_not_replaced_unless_it_is_meant_to_be(folder, capsys):
    before = (folder / "vocab.txt").read_bytes()
    assert main(["vocabulary", "heldout.txt", "-o", "vocab.txt"]) == 2
    assert "vocab.txt exists already; give --overwrite" in capsys.readouterr().err
    assert (folder / "vocab.txt").read_bytes() == before
    arguments = ["vocabulary", "heldout.txt", "-o", "vocab.txt", "--overwrite", "--size", "4"]
    assert main(arguments) == 0
    assert re.match(r"vocab.txt: 4 words, [\d.]+% of the text\n", capsys.readouterr().err)
    assert main([*arguments[:-1], "3"]) == 2
    assert "--size must be an integer of at least 4. Received: --size 3" in capsys.readouterr().err


def test_reading_is_shown(folder, capsys, monkeypatch):
    monkeypatch.setattr("keras_elmo.cli.progress._SECONDS", -1)
    monkeypatch.setattr("keras_elmo.training.corpus._PROGRESS_LINES", 20)
    arguments = ["vocabulary", "train-*", "-o", "vocab.txt", "--overwrite"]
    assert main([*arguments, "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert main(arguments) == 0
    *shares, end = capsys.readouterr().err.splitlines()
    assert shares[-1] == "reading: 100%" and len(shares) == 8 and end.startswith("vocab.txt: ")


def test_signal_while_it_traces_ends_it_at_once(folder, capsys, monkeypatch):
    from keras_elmo.models import BiLanguageModel

    def killed(*_, **__):
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("it went on")

    monkeypatch.setattr(BiLanguageModel, "read_windows", killed)
    assert main([*TRAIN, "-o", "model", "--steps", "2"]) == 143
    assert capsys.readouterr().err.endswith("keras-elmo: terminated; nothing was kept\n")


def command(*arguments):
    return [sys.executable, "-m", "keras_elmo", *arguments]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_run_goes_on_to_the_same_digits(folder, seed):
    """kill -9 at a random step, then --resume, against a run that was left alone."""
    train = [*TRAIN, "--steps", "400", "--checkpoint-every", "20", "--seed", str(seed)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    subprocess.run(command(*train, "-o", "whole"), check=True, **quiet)
    with subprocess.Popen(command(*train, "-o", "broken"), **quiet) as process:
        begun = folder / "broken/checkpoints/checkpoint"
        while not begun.exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(random.Random(seed).uniform(0, 1.5))
        assert process.poll() is None, "it ended before it was killed"
        process.send_signal(signal.SIGKILL)
    assert not (folder / "broken/weights.hdf5").exists()
    subprocess.run(command(*train, "-o", "broken", "--resume"), check=True, **quiet)
    models = [BiLanguageModel.from_pretrained(folder / name) for name in ("whole", "broken")]
    sentences = (folder / "heldout.txt").read_text().split("\n")
    one, other = (np.log(model.perplexity(sentences)["perplexity"]) for model in models)
    assert one == pytest.approx(other, abs=1e-6)
    for variable, same in zip(*(model.variables for model in models), strict=True):
        np.testing.assert_allclose(variable.numpy(), same.numpy(), atol=1e-6)
