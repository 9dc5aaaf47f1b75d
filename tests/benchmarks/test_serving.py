"""The load test runs, on a tiny model; no figure is asserted."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip(
    "tensorflow_serving",
    reason='tensorflow-serving-api is missing: pip install "keras_elmo[serving]"',
)

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow  # it kills a server under load, which tests/examples does one by one
def test_every_answer_is_right(tmp_path):
    command = [sys.executable, "-m", "benchmarks.serving", "--small", "--requests", "60"]
    command += ["--output", str(tmp_path)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr[-3000:]
    results = json.loads((tmp_path / "serving.json").read_text())
    assert results["faults"] == []
    tables = results["tables"]
    grpc, rest, _ = tables["load"]
    assert (grpc["answers"], rest["answers"]) == (57, 19) and grpc["wrong"] == rest["wrong"] == 0
    assert grpc["requests/s"] > 0 and 0 < grpc["p50 (ms)"] <= grpc["p99 (ms)"]
    assert sum(row["requests"] for row in tables["malformed requests"]) == 4
    assert len(tables["memory of the server"]) == 11
    restart = {row[""]: row["value"] for row in tables["kill -9 and restart"]}
    assert restart["right answers before the kill"] + restart["right answers after it"] == 29
    assert restart["malformed requests refused"] == 1
    assert restart["requests that were sent more than once"] > 0
    text = (tmp_path / "serving.md").read_text()
    assert text.strip() == result.stdout.strip() and "### kill -9 and restart" in text
