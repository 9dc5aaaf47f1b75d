import gzip
import io
import json
import os
import re
import signal
import sys

import h5py
import numpy as np
import pytest

from keras_elmo import Elmo, read_embeddings
from keras_elmo.files.records import Records
from keras_elmo.process.signals import check_signals
from keras_elmo.weights.sources import open_model
from keras_elmo_cli.main import main

pytestmark = pytest.mark.usefixtures("loaded_once")

SENTENCES = ["The cat sat .", "Hello", "naïve 猫 😀", "The cat sat ."]
TEXT = "\n".join(SENTENCES) + "\n"


@pytest.fixture(scope="module")
def model(small_folder):
    # As the command loads it, so that both share one model.
    arguments = {"tokenizer": "whitespace", "dtype": "float32"}
    config, weights = open_model(str(small_folder))
    return Elmo.from_files(config, weights, source=str(small_folder), **arguments)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder for the input and the output."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def embed(folder, small_folder, capsys):
    """Runs `embed`: the status, and what it wrote to standard error."""

    def run(*arguments, content=TEXT, model=small_folder, quiet=True):
        if content is not None:
            content = content if isinstance(content, bytes) else content.encode()
            (folder / "in.txt").write_bytes(content)
        arguments = ["embed", *arguments, "-m", str(model), *(["-q"] if quiet else [])]
        status = main(arguments)
        out, err = capsys.readouterr()
        assert out == ""
        return status, err

    return run


def arrays_of(file):
    """The arrays of a file, in the order of their numbers."""
    if str(file).endswith(".npz"):
        with np.load(file) as source:
            arrays = {name: source[name] for name in source.files}
    else:
        with h5py.File(file, "r") as source:
            arrays = {name: item[()] for name, item in source.items()}
            arrays.pop("sentence_to_index", None)
    assert sorted(arrays, key=int) == [str(number) for number in range(len(arrays))]
    return [arrays[str(number)] for number in range(len(arrays))]


def sentence_index(file):
    with h5py.File(file, "r") as source:
        if "sentence_to_index" not in source:
            return None
        assert source["sentence_to_index"].shape == (1,)
        return json.loads(source["sentence_to_index"][0])


def assert_same(arrays, expected):
    assert len(arrays) == len(expected)
    for array, other in zip(arrays, expected, strict=True):
        assert array.dtype == np.float32
        assert array.shape == other.shape
        np.testing.assert_allclose(array, other, rtol=0, atol=1e-6)


LATIN = "The cat\ncaf\xe9\nHello\nna\xefve\n"
LAYERS = ["all", "average", "top", "elmo", "default", "word_emb", "lstm_outputs2", 0, 1, 2, -1, -3]


@pytest.mark.parametrize("layers", LAYERS)
def test_every_choice_of_layers(embed, model, layers):
    assert embed("in.txt", "-o", "out.hdf5", "--layers", str(layers)) == (0, "")
    assert_same(arrays_of("out.hdf5"), model.embed(SENTENCES, layers))


@pytest.mark.parametrize("output", ["out.hdf5", "out.h5", "out.npz"])
@pytest.mark.parametrize(
    "options, content, sentences",
    [
        ([], TEXT, SENTENCES),
        (["--token-budget", "1"], TEXT, SENTENCES),
        (["--no-sentence-index"], TEXT, SENTENCES),
        (["--encoding", "latin-1"], LATIN.encode("latin-1"), LATIN.splitlines()),
        (["--errors", "replace"], b"caf\xe9 au\nlait\n", ["caf\ufffd au", "lait"]),
        ([], b"\xef\xbb\xbfThe cat\r\nHello\n", ["The cat", "Hello"]),  # a byte order mark
        ([], b"caf a\x00b\n", ["caf a\x00b"]),
        ([], "", []),
    ],
)
def test_the_file_holds_what_embed_gives(embed, model, output, options, content, sentences):
    assert embed("in.txt", "-o", output, *options, content=content) == (0, "")
    assert_same(arrays_of(output), model.embed(sentences, "all"))
    assert sorted(os.listdir()) == ["in.txt", output]
    if output != "out.npz":  # of a sentence that occurs twice, the index has the last line
        index = {sentence: str(line) for line, sentence in enumerate(sentences)}
        assert sentence_index(output) == (None if "--no-sentence-index" in options else index)


def test_standard_input(embed, model, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO("\n".join(SENTENCES).encode()), "ascii")
    monkeypatch.setattr(sys, "stdin", stdin)
    assert embed("-", "-o", "out.hdf5", content=None) == (0, "")
    assert_same(arrays_of("out.hdf5"), model.embed(SENTENCES, "all"))


RECORDS = '{"id": 7, "text": "The cat sat ."}\n\n{"text": ["New", "York"], "id": "x", "n": 1}\n'


@pytest.mark.parametrize("output", ["out.hdf5", "out.npz"])
@pytest.mark.parametrize("options", [[], ["--format", "jsonl"]])
def test_a_field_of_records(embed, folder, model, monkeypatch, output, options):
    """Of a file by its name, and of standard input by its format."""
    (folder / "in.jsonl").write_text(RECORDS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RECORDS.encode())))
    typed = ["-" if options else "in.jsonl", "-o", output, "--field", "text", "--keep", "id"]
    assert embed(*typed, *options, content=None) == (0, "")
    assert_same(list(read_embeddings(output)), model.embed(["The cat sat .", "New York"], "all"))
    assert read_embeddings(output).kept == {"id": [7, "x"]}
    if output == "out.hdf5":
        assert sentence_index(output) == {"The cat sat .": "0", "New York": "1"}


def test_columns_of_a_table_with_progress(embed, folder, model, no_delay):
    (folder / "in.csv.gz").write_bytes(gzip.compress(b'a,b,text\n1,2,"The\ncat"\n3,4,Hello\n'))
    arguments = ["in.csv.gz", "-o", "out.hdf5", "--field", "text", "--keep", "b", "--keep", "a"]
    status, err = embed(*arguments, content=None, quiet=False)
    assert status == 0 and "2/2 [" in err
    assert_same(list(read_embeddings("out.hdf5")), model.embed(["The cat", "Hello"], "all"))
    assert read_embeddings("out.hdf5").kept == {"b": ["2", "4"], "a": ["1", "3"]}


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ["in.jsonl"],
            "--field must name the field of in.jsonl that is the text. Received: no name",
        ),
        (["in.jsonl", "--field", "id"], "in.jsonl must be a string, or .* Received: line 1, 7"),
        (["in.jsonl", "--field", "text", "--keep", "n"], "a field 'n'. Received: line 1, with id,"),
        (["in.txt", "--field", "text"], "With --field, in.txt must be JSON Lines, .* or --format"),
        (["-", "--field", "text"], "With --field, standard input must be JSON Lines, CSV or TSV"),
        (
            ["in.txt", "--keep", "id"],
            "--keep must name fields, each once, and be given with --field",
        ),
        (
            ["in.jsonl", "--field", "text", "--keep", "id", "--use-sentence-keys"],
            "--keep must not be",
        ),
    ],
)
def test_wrong_fields_are_one_line_and_write_nothing(embed, folder, arguments, message):
    (folder / "in.jsonl").write_text(RECORDS)
    status, err = embed(*arguments, "-o", "out.hdf5")
    assert status == 2 and re.fullmatch(f"keras-elmo embed: error: .*{message}.*\n", err), err
    assert sorted(os.listdir()) == ["in.jsonl", "in.txt"]


def test_a_file_with_fields_can_be_read_as_text(embed, folder, model):
    (folder / "in.csv").write_text(TEXT)
    assert embed("in.csv", "-o", "out.npz", "--format", "text", content=None) == (0, "")
    assert_same(arrays_of("out.npz"), model.embed(SENTENCES, "all"))


def test_proteins_of_fasta(embed, folder, model):
    (folder / "p.fa").write_text(">P1 first\nMKT\nAY\n>P2\nM\n", "utf-8")
    options = ["-o", "p.hdf5", "--tokenizer", "characters", "-l", "default"]
    assert embed("p.fa", *options, content=None) == (0, "")
    with read_embeddings("p.hdf5") as vectors:
        assert vectors.kept == {"id": ["P1", "P2"]}
        tokens = model.embed([list("MKTAY"), ["M"]], layers="default")
        np.testing.assert_allclose(list(vectors), tokens, atol=1e-6)


def test_empty_lines_keep_their_numbers(embed, model):
    content = "\nHello\n\n \nThe cat\n\n"
    assert embed("in.txt", "-o", "out.hdf5", content=content) == (0, "")
    arrays = arrays_of("out.hdf5")
    assert [array.shape for array in arrays] == [(3, n, 16) for n in (0, 1, 0, 0, 2, 0)]
    assert_same([arrays[1], arrays[4]], model.embed(["Hello", "The cat"], "all"))


def test_compressed_text(embed, folder, model):
    (folder / "in.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert embed("in.gz", "-o", "out.npz", content=None) == (0, "")
    assert_same(arrays_of("out.npz"), model.embed(SENTENCES, "all"))


@pytest.mark.parametrize("quiet, times", [(True, 1), (False, 2)])
def test_quiet_reads_the_input_once(embed, monkeypatch, quiet, times):
    reads, read = [], Records.read
    monkeypatch.setattr(Records, "read", lambda self: reads.append(self) or read(self))
    assert embed("in.txt", "-o", "out.npz", quiet=quiet)[0] == 0
    assert len(reads) == times


def test_arrays_may_be_named_by_their_sentences(embed, folder, model):
    content = " The cat sat . \nna\xefve\n"
    arguments = ["in.txt", "-o", "out.hdf5", "--use-sentence-keys"]
    assert embed(*arguments, content=content) == (0, "")
    with h5py.File("out.hdf5", "r") as file:
        assert sorted(file) == ["The cat sat .", "na\xefve"]
        arrays = [file["The cat sat ."][()], file["na\xefve"][()]]
    assert_same(arrays, model.embed(["The cat sat .", "na\xefve"], "all"))


@pytest.mark.parametrize("quiet", [True, False])
@pytest.mark.parametrize(
    "content, message",
    [
        ("a b\nc\na b \n", "in.txt, line 3, whose sentence is that of line 1 again: 'a b'"),
        ("a\n\n", "in.txt, line 2, whose sentence is empty"),
        (".\n", "in.txt, line 1, whose sentence is a dot alone"),
        ("he / she\n", "in.txt, line 1, whose sentence holds a /"),
        ("a\0b\n", "in.txt, line 1, whose sentence holds a NUL"),
    ],
)
def test_sentences_that_cannot_be_names(embed, content, message, quiet):
    arguments = ["in.txt", "-o", "out.hdf5", "--use-sentence-keys"]
    status, err = embed(*arguments, content=content, quiet=quiet)
    assert status == 2 and message in err
    assert sorted(os.listdir()) == ["in.txt"]


def test_existing_output_is_replaced_where_it_is_meant_to_be(embed, folder, model):
    (folder / "out.hdf5").write_bytes(b"old")
    assert embed("in.txt", "-o", "out.hdf5", "--overwrite") == (0, "")
    assert_same(arrays_of("out.hdf5"), model.embed(SENTENCES, "all"))


def test_summary_and_progress_go_to_standard_error(embed, no_delay):
    status, err = embed("in.txt", "-o", "out.npz", quiet=False)
    assert status == 0
    assert err.splitlines()[-1] == "out.npz: 4 sentences, 12 tokens"
    assert "4/4" in err
    options = "-o", "one.npz", "-l", "default"  # of whose arrays the tokens cannot be counted
    err = embed("in.txt", *options, content="Hello\n", quiet=False)[1]
    assert err.splitlines()[-1] == "one.npz: 1 sentence"


@pytest.mark.parametrize("output", ["out.hdf5", "out.npz"])
@pytest.mark.parametrize(
    "error, status", [(KeyboardInterrupt(), 130), (signal.SIGTERM, 143), (OSError("disk full"), 2)]
)
def test_existing_output_is_untouched_after_an_error(
    embed, folder, monkeypatch, output, error, status
):
    (folder / output).write_bytes(b"old")

    def stopped(self, *args, **kwargs):
        yield np.zeros((3, 1, 16), "float32")
        if error is signal.SIGTERM:
            os.kill(os.getpid(), error)
            check_signals()
        raise error

    monkeypatch.setattr(Elmo, "embed_stream", stopped)
    before = signal.getsignal(signal.SIGTERM)
    result, err = embed("in.txt", "-o", output, "--overwrite")
    assert result == status and signal.getsignal(signal.SIGTERM) is before
    said = {130: ": interrupted; nothing", 143: ": terminated; nothing", 2: " embed: error: disk"}
    assert err.startswith(f"keras-elmo{said[status]}") and len(err.splitlines()) == 1
    assert (folder / output).read_bytes() == b"old"
    assert sorted(os.listdir(folder)) == ["in.txt", output]


def test_progress_bar_ends_before_the_message(embed, monkeypatch):
    """While the writer waits, the generator of the arrays is not the one that is interrupted."""
    events = []

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
    message = []
    monkeypatch.setattr("builtins.print", lambda line, **_: message.append((line, list(events))))
    assert embed("in.txt", "-o", "out.npz")[0] == 130
    assert message == [
        ("keras-elmo: interrupted; nothing was written", [(1, 16), "end of the bar"])
    ]


def test_prose_with_products_in_bfloat16(embed, model):
    arguments = ["in.txt", "-o", "out.hdf5", "-t", "treebank", "--matmul-dtype", "bfloat16"]
    assert embed(*arguments, content="They don't know.\nHello!\n") == (0, "")
    expected = model.embed(["They don 't know .", "Hello !"], layers="all")
    differences = []
    for array, other in zip(arrays_of("out.hdf5"), expected, strict=True):
        assert array.dtype == np.float32 and array.shape == other.shape
        differences.append(np.abs(array - other).max())
    assert 1e-5 < max(differences) < 0.1
