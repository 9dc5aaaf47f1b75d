import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from keras_elmo import Elmo

pytest.importorskip("apache_beam")  # the extra `beam`

import pyarrow.parquet  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_pipeline_runs_in_two_processes(tmp_path):
    lines = (ROOT / "examples/data/sentences.txt").read_text("utf-8").splitlines()
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    workers = ["--direct_num_workers", "2", "--direct_running_mode", "multi_processing"]
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples/beam_embed.py")]
        + [str(ROOT / "examples/data/sent*.txt"), str(tmp_path / "vectors"), *workers],
        env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    files = list(tmp_path.glob("vectors-*.parquet"))
    assert files
    table = pyarrow.concat_tables(pyarrow.parquet.read_table(path) for path in files)
    rows = {row["text"]: row for row in table.to_pylist()}
    assert sorted(table["text"].to_pylist()) == sorted(lines)
    expected = Elmo.from_pretrained("tiny").embed(lines, "default")
    for line, vector in zip(lines, expected, strict=True):
        assert rows[line]["file"].endswith("sentences.txt")
        np.testing.assert_allclose(rows[line]["elmo"], vector, atol=1e-5)
