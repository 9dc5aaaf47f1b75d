"""The load test runs, on a tiny model; no figure is asserted."""

import json
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("tensorflow_serving", reason='pip install "keras_elmo[serving]"')

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_every_answer_is_right(tmp_path):
    command = [sys.executable, "-m", "benchmarks.serving", "--small", "--requests", "60"]
    command += ["--output", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    results = json.loads((tmp_path / "serving.json").read_text())
    tables = results["tables"]
    grpc, python = tables["load"]
    assert results["faults"] == [] and (grpc["answers"], python["answers"]) == (60, 20)
    assert grpc["requests/s"] > 0 and 0 < grpc["p50 (ms)"] <= grpc["p99 (ms)"]
    assert (
        len(tables["memory of the server"]) == 6 and len(tables["one sentence of 12 tokens"]) == 2
    )
    assert (tmp_path / "serving.md").read_text().strip() == result.stdout.strip()
