import io
import json
import os
import sys

import h5py
import numpy as np
import pytest

from keras_elmo import Elmo, read_embeddings

pytestmark = pytest.mark.usefixtures("loaded_once")

SENTENCES = ["The cat sat .", "Hello", "naïve 猫 😀", "The cat sat ."]
TEXT = "\n".join(SENTENCES) + "\n"


@pytest.fixture
def embed(folder, small_folder, run):
    """Runs `embed` in a working folder: the status, and what it wrote to standard error."""

    def embed(*arguments, content=TEXT, quiet=True):
        if content is not None:
            content = content if isinstance(content, bytes) else content.encode()
            (folder / "in.txt").write_bytes(content)
        status, out, err = run("embed", *arguments, "-m", small_folder, *(["-q"] * quiet))
        assert out == ""
        return status, err

    return embed


def sentence_index(file):
    with h5py.File(file, "r") as source:
        if "sentence_to_index" not in source:
            return None
        (text,) = source["sentence_to_index"]
        return json.loads(text)


def assert_same(arrays, expected):
    for array, other in zip(arrays, expected, strict=True):
        assert (array.dtype, array.shape) == (np.float32, other.shape)
        np.testing.assert_allclose(array, other, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "output, layers, options, content, sentences",
    [
        ("out.hdf5", "all", "--token-budget 1", TEXT, SENTENCES),
        ("out.h5", "default", "--no-sentence-index", TEXT, SENTENCES),
        ("out.npz", 0, "--encoding latin-1", b"caf\xe9\nna\xefve\n", ["caf\xe9", "na\xefve"]),
        ("out.hdf5", "top", "--errors replace", b"caf\xe9 au\nlait\n", ["caf\ufffd au", "lait"]),
        ("out.hdf5", -1, "", "\nHello\n\n \nThe cat\n", ["", "Hello", "", " ", "The cat"]),
        ("out.npz", "all", "", "", []),
    ],
)
def test_the_file_holds_what_embed_gives(
    embed, folder, elmo, output, layers, options, content, sentences
):
    """In the place of an older file."""
    (folder / output).write_bytes(b"old")
    typed = ["-o", output, "--overwrite", "-l", str(layers), *options.split()]
    assert embed("in.txt", *typed, content=content) == (0, "")
    assert_same(read_embeddings(output), elmo.embed(sentences, layers))
    assert sorted(os.listdir()) == ["in.txt", output]
    if output != "out.npz":  # of a sentence that occurs twice, the index has the last line
        index = {sentence: str(line) for line, sentence in enumerate(sentences)}
        assert sentence_index(output) == (None if "--no-sentence-index" in options else index)


RECORDS = '{"id": 7, "text": "The cat sat ."}\n\n{"text": ["New", "York"], "id": "x", "n": 1}\n'


@pytest.mark.parametrize("command", ["in.jsonl -o out.hdf5", "- --format jsonl -o out.npz"])
def test_a_field_of_records(embed, folder, elmo, monkeypatch, command):
    """Of a file by its name, and of standard input by its format."""
    (folder / "in.jsonl").write_text(RECORDS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RECORDS.encode())))
    *_, output = typed = command.split()
    assert embed(*typed, "--field", "text", "--keep", "id", content=None) == (0, "")
    assert_same(read_embeddings(output), elmo.embed(["The cat sat .", "New York"], "all"))
    assert read_embeddings(output).kept == {"id": [7, "x"]}
    if output == "out.hdf5":
        assert sentence_index(output) == {"The cat sat .": "0", "New York": "1"}


def test_arguments_reach_the_model(embed, elmo, monkeypatch):
    calls = []
    monkeypatch.setattr(Elmo, "from_files", lambda *_, **kwargs: calls.append(kwargs) or elmo)
    arguments = ["in.txt", "-o", "out.npz", "-t", "treebank", "--matmul-dtype", "bfloat16"]
    assert embed(*arguments) == (0, "")
    typed = {"tokenizer": "treebank", "matmul_dtype": "bfloat16"}
    assert calls == [typed]


def test_summary_and_progress_go_to_standard_error(embed, no_delay):
    status, err = embed("in.txt", "-o", "out.npz", quiet=False)
    assert status == 0 and "4/4" in err
    assert err.splitlines()[-1] == "out.npz: 4 sentences, 12 tokens"
    options = "-o", "one.npz", "-l", "default"  # of whose arrays the tokens cannot be counted
    err = embed("in.txt", *options, content="Hello\n", quiet=False)[1]
    assert err.splitlines()[-1] == "one.npz: 1 sentence"


def test_progress_bar_ends_before_the_message_and_an_older_file_stays(embed, folder, monkeypatch):
    """While the writer waits, the generator of the arrays is not the one that is interrupted."""
    events = []
    (folder / "out.npz").write_text("old")

    def stream(self, lines, *args, **kwargs):
        try:
            for _ in lines:
                yield np.zeros((1, 16), "float32")
        finally:
            events.append("end of the bar")

    def interrupted(file, array):
        events.append(array.shape)
        raise KeyboardInterrupt

    monkeypatch.setattr(Elmo, "embed_stream", stream)
    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    monkeypatch.setattr("builtins.print", lambda line, **_: events.append(line))
    assert embed("in.txt", "-o", "out.npz", "--overwrite")[0] == 130
    message = "keras-elmo: interrupted; nothing was written"
    assert events == [(1, 16), "end of the bar", message]
    assert (folder / "out.npz").read_text() == "old"
    assert sorted(os.listdir()) == ["in.txt", "out.npz"]
