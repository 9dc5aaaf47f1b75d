"""The probes' own arithmetic, and that they run."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from benchmarks import probes  # noqa: E402

sys.path.remove(str(ROOT))


def test_macro_f1():
    truth, predicted = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 0, 0])
    # Precision and recall of 0: 2/4, 2/3; of 1: 1/2, 1/2; of 2: none.
    assert probes.macro_f1(truth, predicted, 3) == pytest.approx((4 / 7 + 1 / 2 + 0) / 3)
    assert probes.macro_f1(truth, truth, 3) == 1


def test_what_is_read(tmp_path):
    (tmp_path / "train.data.txt").write_text("2\tby the bank .\n0\tbank loans\n")
    (tmp_path / "train.gold.txt").write_text("1\n0\n")
    sentences, places, golds = probes.read_senses(tmp_path, "train")
    assert sentences == [["by", "the", "bank", "."], ["bank", "loans"]]
    assert places == [2, 0] and golds.tolist() == [1, 0]
    rows = ["# text", "1-2\tdon't" + "\t_" * 8, "1\tdo\tdo\tAUX" + "\t_" * 6]
    rows += ["2\tn't\tnot\tPART" + "\t_" * 6, "", "1\tGo\tgo\tVERB" + "\t_" * 6, "", ""]
    (tmp_path / "a.conllu").write_text("\n".join(rows))
    assert probes.read_tags(tmp_path / "a.conllu") == (
        [["do", "n't"], ["Go"]],
        ["AUX", "PART", "VERB"],
    )


def test_they_run(shared, small_folder, tmp_path):
    command = [sys.executable, "-m", "benchmarks.probes", "--small", str(small_folder)]
    command += ["--data", str(shared / "data"), "--output", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    tables = json.loads((tmp_path / "probes.json").read_text())["tables"]
    names = ["layer 0", "layer 1", "layer 2", "mix"]
    for rows in tables.values():
        assert [row["vectors"] for row in rows] == names
    # Layer 0 knows only the word.
    assert tables["bank"][0]["mean cosine, other sense"] == pytest.approx(1, abs=1e-5)
    assert all(0 < row["test, accuracy (%)"] < 100 for row in tables["parts of speech"])
