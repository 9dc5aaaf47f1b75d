"""A run that is killed and resumed. (`fuzz/kills.py` does the same at random moments.)"""

import functools
import os
import random
import resource
import signal

import pyarrow.parquet
import pytest
from corpora import killed

from keras_elmo import Elmo
from keras_elmo.corpora import read_manifest
from keras_elmo_cli.main import main

WORDS = "the cat sat on a long mat and looked at the old dog . naïve 猫 😀".split()


def write_lines(path, count):
    rng = random.Random(0)
    lines = [" ".join(rng.choices(WORDS, k=rng.randint(0, 30))) for _ in range(count)]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return lines


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(model, output, size):
    arguments = ["embed-corpus", "in.txt", "-o", output, "-m", model, "--shard-size", size, "-q"]
    return [*map(str, arguments)]


def test_a_run_keeps_others_out_and_is_resumed_after_it_is_killed(
    folder, one_layer_folder, capsys, monkeypatch
):
    """The process is held and then killed while it writes a shard."""
    monkeypatch.setattr(Elmo, "from_files", functools.cache(Elmo.from_files))  # traces once
    lines = write_lines(folder / "in.txt", 900)
    process = killed.start(command(one_layer_folder, "out", "60"))
    killed.wait_for(process, lambda: killed.shards_in("out") and killed.parts_in("out"))
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)  # until all of its threads stand still
    parts = killed.parts_in("out")
    assert main(command(one_layer_folder, "out", "60")) == 2
    assert "two processes" in capsys.readouterr().err
    assert killed.parts_in("out") == parts  # those of a living process stay
    process.kill()
    status, err = killed.finish(process)
    kept = {name: killed.contents("out")[name] for name in killed.shards_in("out")}
    assert status == -signal.SIGKILL and 0 < len(kept) < 15, err
    assert not read_manifest("out")["complete"]
    part = "out/.part.elsewhere.1.abc.shard-00007-of-00015.parquet"  # of a machine that is gone
    open(part, "w").close()
    os.utime(part, (0, 0))  # nobody has written to it for long

    # In this process, whose products of matrices may run on other threads, as a check of the rows.
    assert main(command(one_layer_folder, "out", "60")) == 0
    assert killed.parts_in("out") == [] and len(killed.shards_in("out")) == 15
    assert kept.items() <= killed.contents("out").items()
    assert read_manifest("out")["complete"]
    table = pyarrow.parquet.read_table("out", columns=["id", "text"])
    assert table["id"].to_pylist() == list(range(900)) and table["text"].to_pylist() == lines
    assert main(command(one_layer_folder, "whole", "60")) == 0
    assert killed.contents("out") == killed.contents("whole")


def test_a_run_goes_on_after_a_disk_that_was_full(folder, one_layer_folder, capsys, monkeypatch):
    """The second shard is larger than a file may be."""
    monkeypatch.setattr(Elmo, "from_files", functools.cache(Elmo.from_files))  # traces once
    (folder / "in.txt").write_text("cat\n" * 60 + "the old cat sat on a mat\n" * 60)
    assert main(command(one_layer_folder, "whole", "60")) == 0
    sizes = [os.path.getsize(f"whole/{name}") for name in killed.shards_in("whole")]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (sum(sizes) // 2, hard))
    try:
        assert main(command(one_layer_folder, "out", "60")) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "too large" in capsys.readouterr().err
    assert len(killed.shards_in("out")) == 1 and not killed.parts_in("out")
    assert main(command(one_layer_folder, "out", "60")) == 0
    assert killed.contents("out") == killed.contents("whole")
