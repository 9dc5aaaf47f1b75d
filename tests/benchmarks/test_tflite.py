"""The TFLite benchmark runs, on the tiny shape; no time is asserted."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_runs_and_writes_every_table(tmp_path):
    pytest.importorskip("ai_edge_litert")
    command = [sys.executable, "-m", "benchmarks.tflite", "--small", "--output", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    tables = json.loads((tmp_path / "tflite.json").read_text())["tables"]
    assert list(tables) == ["text in, batch 1", "every way to call", "int8 with heavy tails"]
    accuracy, calls, tails = tables.values()
    assert [row["weights"] for row in accuracy] == ["float32", "float16", "int8"]
    assert len(calls) == 6 and len(tails) == 3
    for row in accuracy:
        for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo"):
            assert row[f"cosine of {name}"] >= (0.99 if row["weights"] == "int8" else 0.99999)
    text = (tmp_path / "tflite.md").read_text()
    assert "### every way to call" in text and "| tiny | int8 |" in text
