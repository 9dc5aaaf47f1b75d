"""The probes run."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_they_run(shared, small_folder, tmp_path):
    command = [sys.executable, "-m", "benchmarks.probes", "--small", str(small_folder)]
    command += ["--data", str(shared / "data"), "--output", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    tables = json.loads((tmp_path / "probes.json").read_text())["tables"]
    names = ["layer 0", "layer 1", "layer 2"]
    assert [row["vectors"] for row in tables["bank"]] == names
    # Layer 0 knows only the word.
    assert tables["bank"][0]["mean cosine, other sense"] == pytest.approx(1, abs=1e-5)
    speech = tables["parts of speech"]
    assert [row["vectors"] for row in speech] == ["most frequent tag", *names, "mix"]
    assert all(0 < row["test, accuracy (%)"] < 100 for row in speech)
    (digit,) = tables["senses"]
    assert digit["noun"] == "digit" and digit["senses"] == 2 and digit["tested"] == 42
    kinds = ["most frequent sense", *names, "average"]
    assert list(digit)[3:] == [f"F1 (%), {kind}" for kind in kinds]
    assert digit["F1 (%), layer 0"] == digit["F1 (%), most frequent sense"] == pytest.approx(44.0)
