"""The benchmark of the corpora runs, on few lines; no figure is asserted."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_runs_and_writes_every_table(tmp_path):
    command = [sys.executable, "-m", "benchmarks.corpora", "--small"]
    command += ["--text", str(ROOT / "examples/data/sentences.txt"), "--output", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    tables = json.loads((tmp_path / "corpora.json").read_text())["tables"]
    assert list(tables) == [
        "formats, tiny",
        "formats, the original's shape",
        "time of a token by sentence length",
        "share of Python, tiny",
        "memory, a small model",
    ]
    formats = [row["format"] for row in tables["formats, tiny"]]
    assert formats == [
        "HDF5, all layers",
        "Parquet, all layers",
        "Parquet, pooled",
        "Beam, all layers, 1 process",
        "Beam, all layers, 2 processes",
    ]
    rows = tables["memory, a small model"]
    assert [(row["lines"], row["rows in the manifest"]) for row in rows] == [(200, 200), (400, 400)]
    numbers = [v for rows in tables.values() for row in rows for v in row.values()]
    assert all(value > 0 for value in numbers if isinstance(value, float))
    text = (tmp_path / "corpora.md").read_text()
    assert text.strip() == result.stdout.strip() and "| Parquet, pooled |" in text

    result = subprocess.run(
        [*command, "--tables", "speed"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 1 and "Received: ['speed']" in result.stderr
