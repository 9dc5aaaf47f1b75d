"""Runs that are killed at random moments, and are resumed."""

import functools
import os
import random
import re
import signal
import subprocess

import pyarrow.parquet
import pytest
from corpora import killed

from keras_elmo import Elmo
from keras_elmo.corpora import read_manifest
from keras_elmo_cli.main import main

_SHARDS = 480  # of the slow test
# By the signals that stop a run: the exit status.
SIGNALS = {
    "kill -9": (signal.SIGKILL, -9),
    "SIGTERM": (signal.SIGTERM, 143),
    "SIGINT": (signal.SIGINT, 130),
}
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
    """One process, which is held and then killed while it writes a shard."""
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
    part = "out/.shard-00007-of-00015.parquet.elsewhere.1.abc.part"  # of a machine that is gone
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


@pytest.mark.slow
@pytest.mark.parametrize("event", [*SIGNALS, "file limit", "full disk"])
def test_ten_stops_at_random_moments_lose_nothing(folder, one_layer_folder, event):
    """Every way to stop a run. `pytest -m slow -rP tests/corpora/test_kill.py` shows a log."""
    rng = random.Random(event)
    lines = write_lines(folder / "in.txt", 25 * _SHARDS)
    whole, disk = folder / "whole", folder / "disk"
    out = disk / "out"
    assert killed.finish(killed.start(command(one_layer_folder, whole, "25")))[0] == 0
    is_mounted = False
    sizes = sorted(len(content) for content in killed.contents(whole).values())
    size = sum(sizes)
    if event == "full disk":
        disk.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={2 * size}", "tmpfs", str(disk)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
            pytest.skip("mounting a small disk needs root")
        is_mounted = True
    log = []
    try:
        for stop in range(10):
            before = len(killed.shards_in(out))
            limits = {}
            # Less than a tenth of the shards each time, and somewhere within one of the next.
            target = before + rng.randint(1, _SHARDS // 20)
            if event == "file limit":
                # Only a shard of many tokens is larger than the limit.
                limits["LIMIT"] = str(sizes[-1 - 6 * (10 - stop)] - rng.randrange(2000))
            if event == "full disk":
                free = os.statvfs(disk)
                left = (target - before) * size // _SHARDS + rng.randrange(size // _SHARDS)
                with open(disk / "taken", "wb") as file:
                    file.write(bytes(max(0, free.f_bavail * free.f_frsize - left)))
            process = killed.start(command(one_layer_folder, out, "25"), **limits)
            if event in SIGNALS:
                killed.wait_for(process, lambda: len(killed.shards_in(out)) >= target)  # noqa: B023
                killed.wait(process, rng.uniform(0, 0.02))
                process.send_signal(SIGNALS[event][0])
            status, err = killed.finish(process)
            if event == "full disk":
                os.remove(disk / "taken")
            _, expected = SIGNALS.get(event, (None, 2))
            assert status == expected, (stop, status, err, log)
            if expected == 2:
                assert re.fullmatch(
                    r".*(No space left|File too large).*disk/out/(shard-|_manifest).*\n", err
                )
            if event != "kill -9":
                assert killed.parts_in(out) == []
            found = killed.shards_in(out)
            log.append(f"{event} {stop + 1}: {before} shards before, {len(found)} after")
        assert killed.finish(killed.start(command(one_layer_folder, out, "25"))) == (0, "")
        assert killed.parts_in(out) == []
        differing = dict(killed.contents(out).items() ^ killed.contents(whole).items())
        assert sorted(differing) == []
        manifest = read_manifest(out)
        assert manifest["complete"] and len(manifest["shards"]) == _SHARDS
        table = pyarrow.parquet.read_table(out, columns=["id", "text"])
        assert table["id"].to_pylist() == list(range(len(lines)))
        assert table["text"].to_pylist() == lines
        log.append(
            f"{event}: 10 stops, {_SHARDS} shards, {len(table):,} rows equal to an unbroken run"
        )
    finally:
        if is_mounted:
            subprocess.run(["umount", str(disk)], check=True)
    print(*log, sep="\n")
