"""The benchmark of the training runs, on a small model; no figure is asserted."""

import json
import pathlib
import random
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_runs_and_writes_every_table(tmp_path):
    chance = random.Random(0)
    words = [f"w{k}" for k in range(150)]
    for name, number in (("train.txt", 60), ("heldout.txt", 5)):
        lines = [" ".join(chance.choices(words, k=9)) for _ in range(number)]
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]))
    command = [sys.executable, "-m", "benchmarks.training", "--small", "--text", str(tmp_path)]
    command += ["--output", str(tmp_path / "results")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    tables = json.loads((tmp_path / "results/training.json").read_text())["tables"]
    assert list(tables) == [
        "learning", "where the time goes", "size of the vocabulary", "precision"
    ]  # fmt: skip
    assert [row["seed"] for row in tables["learning"]] == [1, 2, 3]
    assert [row["words"] for row in tables["size of the vocabulary"]] == [153, 400]
    assert [row["dtype"] for row in tables["precision"]] == [
        "float32", "mixed_bfloat16", "matmul_dtype bfloat16"
    ]  # fmt: skip
    numbers = [v for rows in tables.values() for row in rows for v in row.values()]
    assert all(value > 0 for value in numbers if isinstance(value, float))
    text = (tmp_path / "results/training.md").read_text()
    assert text.strip() == result.stdout.strip() and "| character encoder |" in text
