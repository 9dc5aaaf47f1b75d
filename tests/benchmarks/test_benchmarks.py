"""The benchmark runs, on a small model; no figure is asserted."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_runs_and_writes_every_table(tmp_path):
    sentences = (ROOT / "examples/data/sentences.txt").read_text(encoding="utf-8")
    (tmp_path / "text.txt").write_text(sentences, encoding="utf-8")
    command = [sys.executable, "-m", "benchmarks", "--small"]
    command += ["--text", str(tmp_path / "text.txt"), "--output", str(tmp_path / "results")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    results = json.loads((tmp_path / "results/inference.json").read_text())
    assert list(results["tables"]) == [
        "start",
        "systems",
        "token budget",
        "batch",
        "length",
        "distinct words",
        "stages of a batch of 32",
        "exported",
        "precision",
        "many languages",
        "stream, a small model",
    ]
    numbers = [
        value
        for measured in results["tables"].values()
        for row in measured["rows"]
        for name, value in row.items()
        if isinstance(value, float) and not name.startswith("largest error")
    ]
    assert len(numbers) > 40 and all(number > 0 for number in numbers)
    text = (tmp_path / "results/inference.md").read_text()
    assert text.strip() == result.stdout.strip()
    assert "### systems" in text and "| keras_elmo |" in text

    # Some tables anew: the others stay as they are.
    chosen = ["--tables", "stages of a batch of 32"]
    result = subprocess.run([*command, *chosen], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    again = json.loads((tmp_path / "results/inference.json").read_text())
    changed = [name for name, rows in again["tables"].items() if rows != results["tables"][name]]
    assert changed == chosen[1:] and list(again["tables"]) == list(results["tables"])
    result = subprocess.run(
        [*command, "--tables", "speed"], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 1 and "Received: ['speed']" in result.stderr
