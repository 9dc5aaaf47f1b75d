import json
import subprocess
import sys

import pytest
from scripts import ROOT


def test_a_row_has_the_mean_and_the_standard_deviation():
    results = {
        "baseline": {"scores": [50.0]},
        "frozen": {"scores": [70.0, 72.0], "seconds": [3.0, 5.0], "speeds": [9.0], "shares": [1.0]},
    }
    code = "import json, sys; from benchmarks import tasks; "
    code += "print(json.dumps(tasks.rows(json.loads(sys.argv[1]), 'F1 (%)', 'A')))"
    command = [sys.executable, "-c", code, json.dumps(results)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    baseline, frozen = json.loads(result.stdout)
    names = ["standard deviation", "seconds of training", "texts a second", "shares of the layers"]
    same = {"processor": "A"}
    assert baseline == {"vectors": "baseline", "F1 (%)": 50.0, **dict.fromkeys(names, ""), **same}
    values = dict(zip(names, ["1.4", 4.0, 9.0, [1.0]], strict=True))
    assert frozen == {"vectors": "frozen", "F1 (%)": 71.0, **values, **same}


@pytest.mark.slow
def test_it_runs(one_layer_folder, tmp_path, run_benchmark):
    text = ROOT / "examples/data/reviews.train.tsv"
    arguments = ["benchmarks.tasks", "--small", "--seeds", "1", "--text", text, one_layer_folder]
    arguments += ["--tasks", "sentiment", "entities"]
    results, _ = run_benchmark(*arguments)
    tables = results["tables"]
    assert len(tables) == 2
    for rows in tables.values():
        names = {row["vectors"] for row in rows}
        assert names >= {"layer 0", "layer 1", "frozen", "all trained"}
        assert sum(name.startswith("static vectors of") for name in names) == 1
    # What is there is not measured again.
    (first, *_) = tables
    count = len(tables[first])
    del tables[first][3:]
    tables[first][2]["accuracy (%)"] = 12.5
    (tmp_path / "results/tasks.json").write_text(json.dumps(results))
    again = run_benchmark(*arguments, "--resume")[0]["tables"]
    assert again[first][:3] == tables[first]
    assert len(again[first]) == count
    # A row that is named is, and the others stay.
    arguments += ["--tasks", "sentiment", "--rows", again[first][2]["vectors"]]
    named = run_benchmark(*arguments)[0]["tables"]
    assert named[first][2] != again[first][2]
    assert named[first][:2] + named[first][3:] == again[first][:2] + again[first][3:]
