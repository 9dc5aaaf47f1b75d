"""`python -m keras_elmo_lite`."""

import os
import re
import signal

import numpy as np
import pytest
from text.cases import FILE

import keras_elmo
from keras_elmo_cli.main import main

keras_elmo_lite = pytest.importorskip("keras_elmo_lite.__main__", reason="pip install ./lite")

LINES = ["The cat sat .", "", "na\u00efve \u732b"]


@pytest.fixture
def run(tmp_path, files, monkeypatch, capsys):
    """Runs the command in a folder with `text.txt`: the status, and standard error."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")

    def run(*arguments, model=files["whitespace"]):
        status = keras_elmo_lite.main(["embed", "--model", str(model), *arguments])
        out, err = capsys.readouterr()
        assert out == ""
        return status, err

    return run


def test_a_file_of_vectors(run, models):
    status, err = run("text.txt", "-o", "vectors.npz")
    assert status == 0 and err.splitlines()[-1] == "vectors.npz: 3 sentences"
    expected = models["whitespace"].embed(LINES, layers="all")
    with keras_elmo.read_embeddings("vectors.npz") as vectors:
        for one, other in zip(vectors, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)
    assert run("text.txt", "-o", "vectors.npz")[1].endswith("exists already; give --overwrite\n")
    arguments = ["-o", "vectors.npz", "--overwrite", "-q", "--layers", "-1"]
    assert run("text.txt", *arguments) == (0, "")
    with keras_elmo.read_embeddings("vectors.npz") as vectors:
        np.testing.assert_allclose(vectors[0], expected[0][-1], atol=1e-5)
    assert sorted(os.listdir()) == ["text.txt", "vectors.npz"]


def test_both_commands_read_the_same_sentences(run, small_folder, monkeypatch):
    data, sentences = FILE
    with open("file.txt", "wb") as file:
        file.write(data)
    seen = []

    def embed_stream(_, lines, *args):
        seen.append(list(lines))
        return (np.zeros((1, 2), np.float32) for _ in seen[-1])

    for kind in (keras_elmo.Elmo, keras_elmo_lite.Elmo):
        monkeypatch.setattr(kind, "embed_stream", embed_stream)
    assert run("file.txt", "-o", "lite.npz")[0] == 0
    assert main(["embed", "file.txt", "-m", str(small_folder), "-o", "package.npz"]) == 0
    assert seen == [sentences, sentences]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["text.txt", "-o", "vectors.hdf5"], "must be named \\*.npz"),
        (["nowhere.txt", "-o", "vectors.npz"], "nowhere.txt"),
        (["text.txt", "-o", "nowhere/vectors.npz"], "nowhere"),
        (["latin.txt", "-o", "vectors.npz"], "be UTF-8. Received: line 3: b'caf\\\\xe9.*`iconv"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(run, arguments, message):
    with open("latin.txt", "wb") as file:
        file.write("a\rb\ncaf\u00e9\n".encode("latin-1"))
    status, err = run(*arguments, "--quiet")
    assert status == 2 and re.search(message, err)
    assert err.startswith("keras-elmo-lite embed: error: ") and err.count("\n") == 1
    assert sorted(os.listdir()) == ["latin.txt", "text.txt"]


@pytest.mark.parametrize(
    "command, name, options",
    [("classify", "classifier", []), ("tag", "tagger", []), ("tag", "tagger", ["--entities"])],
)
def test_labels_are_printed_as_by_keras_elmo(
    run, task_models, task_files, monkeypatch, capsys, command, name, options
):
    model = task_models[name]
    monkeypatch.setattr(type(model), "from_pretrained", lambda _: model)
    assert main([command, "label", "text.txt", "-m", "tiny", *options]) == 0
    expected = capsys.readouterr().out
    model = ["--model", task_files[name]]
    assert keras_elmo_lite.main([command, "text.txt", *model, *options]) == 0
    assert capsys.readouterr().out == expected != ""


def test_lines_with_tabs_get_no_label(run, monkeypatch, capsys):
    with open("text.tsv", "w") as file:
        file.write("a text\tlabel\n")
    for command, kind in (("classify", "TextClassifier"), ("tag", "Tagger")):
        monkeypatch.setattr(keras_elmo_lite, kind, lambda *_: None)
        assert keras_elmo_lite.main([command, "text.tsv", "--model", "m"]) == 2
        message = "must be a text without tabs.* Received: 'a text\\\\tlabel'\n"
        assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_nothing(run, monkeypatch, number):
    def stopped(*_):
        yield np.zeros((1, 2), np.float32)
        assert len(os.listdir()) == 2
        signal.raise_signal(number)
        yield np.zeros((1, 2), np.float32)

    monkeypatch.setattr(keras_elmo_lite.Elmo, "embed_stream", stopped)
    before = signal.getsignal(signal.SIGTERM)
    if number == signal.SIGINT:
        assert run("text.txt", "-o", "vectors.npz") == (130, "Stopped; nothing was written.\n")
    else:
        with pytest.raises(SystemExit, match="143"):
            run("text.txt", "-o", "vectors.npz")
    assert os.listdir() == ["text.txt"]
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        keras_elmo_lite.main(["--version"])
    assert capsys.readouterr().out == f"keras-elmo-lite {keras_elmo_lite.__version__}\n"
