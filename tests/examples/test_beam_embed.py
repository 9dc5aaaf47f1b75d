import numpy as np
import pytest
from scripts import ROOT, run_python

from keras_elmo import Elmo

pytest.importorskip("apache_beam")  # the extra `beam`

import pyarrow.parquet  # noqa: E402


@pytest.mark.slow
def test_the_pipeline_runs_in_two_processes(tmp_path):
    lines = (ROOT / "examples/data/sentences.txt").read_text("utf-8").splitlines()
    files = [ROOT / "examples/data/sent*.txt", tmp_path / "vectors"]
    workers = ["--direct_num_workers", "2", "--direct_running_mode", "multi_processing"]
    result = run_python(ROOT / "examples/beam_embed.py", *files, *workers, timeout=600)
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
