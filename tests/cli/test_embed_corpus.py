import gzip
import inspect
import os
import re
import signal

import pyarrow.parquet
import pytest

from keras_elmo.corpora import embed_files
from keras_elmo.process.progress import ProgressBar

pytestmark = pytest.mark.usefixtures("loaded_once")

LINES = ["The cat sat .", "Hello", "naïve 猫 😀", "", "The dog"]


@pytest.fixture
def embed(folder, one_layer_folder, run):
    """Runs `embed-corpus` on two files: the status, and what it wrote to standard error."""
    (folder / "a.txt").write_text("".join(f"{line}\n" for line in LINES[:3]), "utf-8")
    content = "".join(f"{line}\n" for line in LINES[3:]).encode()
    (folder / "b.txt.gz").write_bytes(gzip.compress(content))

    def embed(*arguments):
        status, out, err = run("embed-corpus", *arguments, "-o", "out", "-m", one_layer_folder)
        assert out == ""
        return status, err

    return embed


def test_files_and_patterns_become_a_folder(embed):
    command = "a.txt", "*.gz", "--shard-size", "2"
    status, err = embed(*command)
    assert status == 0 and err.endswith("out: 5 sentences in 3 shards\n")
    table = pyarrow.parquet.read_table("out")
    assert table["text"].to_pylist() == LINES
    assert table["file"].to_pylist() == 3 * ["a.txt"] + 2 * ["b.txt.gz"]
    assert table.column_names[4:] == ["layer_0", "layer_1"]
    assert embed(*command)[1] == "out: 5 sentences in 3 shards; nothing was missing\n"
    assert embed(*command, "-q") == (0, "")


def test_options_reach_the_run(embed, one_layer_folder, monkeypatch):
    calls, signature = [], inspect.signature(embed_files)

    def run(*args, **kwargs):
        calls.append(signature.bind(*args, **kwargs).arguments)
        return {"rows": 0, "shards": []}

    monkeypatch.setattr("keras_elmo.corpora.run.embed_files", run)
    arguments = ["--layers", "elmo, -1", "--pooled", "--dtype", "float16", "-t", "treebank"]
    arguments += ["--matmul-dtype", "bfloat16", "--token-budget", "64", "--field", "text"]
    arguments += ["--keep", "id", "--keep", "n", "--format", "tsv", "--overwrite"]
    assert embed("a.txt", *arguments, "-q") == (0, "")
    (found,) = calls
    assert found.pop("kwargs") == {"tokenizer": "treebank", "matmul_dtype": "bfloat16"}
    expected = {"layers": ["elmo", -1], "pooled": True, "dtype": "float16", "token_budget": 64}
    expected |= {"model": str(one_layer_folder), "keep": ["id", "n"], "shard_size": None}
    expected |= {"field": "text", "format": "tsv", "overwrite": True}
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "number, status, event", [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "term")]
)
def test_a_signal_says_what_is_done(embed, monkeypatch, number, status, event):
    class Killed(ProgressBar):
        def set_postfix_str(self, note, refresh):
            if note == "1/3 shards":
                os.kill(os.getpid(), number)

    monkeypatch.setattr("keras_elmo.process.progress.ProgressBar", Killed)
    result, err = embed("a.txt", "*.gz", "--shard-size", "2", "-q")
    assert result == status and err.startswith(f"keras-elmo: {event}")
    assert re.search("; out has [123] of 3 shards; run the same command again to resume\n", err)
    assert not [name for name in os.listdir("out") if name.startswith(".part.")]
    monkeypatch.undo()
