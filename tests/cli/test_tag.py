"""`keras-elmo tag` and `keras-elmo classify` on files."""

import io
import json

import keras
import pytest

from keras_elmo.cli import classify, tag
from keras_elmo.cli.main import main

TOKENS = "Ada B-PER\nmet O\nCharles B-PER\n\nin O\nLondon B-LOC\n\n" * 4
TEXTS = "a good film\tpos\nan awful mess\tneg\ngood fun\tpos\nso awful\tneg\n" * 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("a.conll", TOKENS), ("a.tsv", TEXTS)):
        (tmp_path / name).write_text(text)
    (tmp_path / "new.txt").write_text("Ada  in London\n\ngood\n")
    return tmp_path


def run(*arguments):
    return main(list(map(str, arguments)))


def test_a_tagger_is_trained_scored_and_used(folder, one_layer_folder, capsys):
    files = ["a.conll", "--dev", "a.conll", "--test", "a.conll", "-o", "t.keras"]
    assert run("tag", "train", *files, "-m", one_layer_folder, "--epochs", 2) == 0
    out, err = capsys.readouterr()
    dev, test = out.splitlines()
    assert dev.startswith("dev: accuracy ") and test.startswith("test: accuracy ")
    assert test.endswith("each word's most frequent tag: accuracy 100.0 %, f1 100.0 %")
    assert "Epoch 2/2" in err and "val_f1" in err.splitlines()[-1]
    model = keras.models.load_model("t.keras")
    assert model.labels == ["B-LOC", "B-PER", "O"]
    assert run("tag", "label", "t.keras", "new.txt") == 0
    out = capsys.readouterr().out
    rows = [[line.split("\t")[0] for line in part.splitlines()] for part in out.split("\n\n")]
    assert rows == [["Ada", "in", "London"], ["", "good"], []]
    assert run("tag", "label", "t.keras", "new.txt", "--entities") == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["text"] for line in lines] == ["Ada  in London", "", "good"]
    expected = model.entities(["Ada  in London"])[0]
    assert lines[0]["entities"] == [entity._asdict() for entity in expected]


def test_a_classifier_is_trained_scored_and_used(folder, one_layer_folder, capsys, monkeypatch):
    files = ["a.tsv", "--test", "a.tsv", "-o", "c.keras", "--epochs", 1, "-q"]
    assert run("classify", "train", *files, "-m", one_layer_folder, "--fine-tune") == 0
    out, err = capsys.readouterr()
    assert out.startswith("test: accuracy ") and err == ""
    assert out.endswith("a bag of words: accuracy 100.0 %\n")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"good\nawful\n")))
    assert run("classify", "label", "c.keras", "-") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[2] for row in rows] == ["good", "awful"]
    assert all(row[0] in ("pos", "neg") and 0.5 <= float(row[1]) <= 1 for row in rows)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("classify train a.tsv -o c.bin", "a *.keras file. Received: --output c.bin"),
        ("classify train a.tsv -o a.keras", "a.keras exists already; give --overwrite"),
        ("classify train new.txt -o c.keras", "new.txt must hold a text and a label"),
        ("classify train no.tsv -o c.keras", "no.tsv"),
        ("tag train a.conll -o c.keras --epochs 0", "--epochs must be an integer of at least 1"),
        ("tag label no.keras new.txt", "There is no file no.keras"),
        ("tag label a.keras new.txt", "a.keras must be a Tagger in a *.keras file. Received: "),
        ("classify train a.tsv -o nodir/c.keras", "nodir must be an existing folder"),
    ],
)
def test_wrong_arguments_are_one_line(folder, capsys, command, message):
    (folder / "a.keras").write_text("no model")
    assert main(command.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert not (folder / "c.keras").exists()


def test_the_baselines():
    train = [["a", "b"], ["a"]], [["X", "Y"], ["X"]]
    name, scores = tag.baseline(train, ([["b", "c"]], [["Y", "Y"]]))
    assert scores == {"accuracy": 0.5}
    train = [["Ada"], ["London"]], [["B-PER"], ["B-LOC"]]
    _, scores = tag.baseline(train, ([["Ada", "met"]], [["B-PER", "O"]]))
    assert scores == {"accuracy": 0.5, "f1": 2 * 1 / (1 + 2)}
    name, scores = classify.baseline((["good", "bad"], [1, 0]), (["so good"], [1]))
    assert (name, scores) == ("a bag of words", {"accuracy": 1.0})
