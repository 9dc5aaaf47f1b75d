import json
import subprocess
import sys

import pytest
from scripts import ROOT


def test_a_row_has_the_mean_and_the_standard_deviation():
    results = {
        "baseline": {"scores": [50.0]},
        "mix": {"scores": [70.0, 72.0], "seconds": [3.0, 5.0], "shares": [0.4, 0.6]},
    }
    code = "import json, sys; from benchmarks import tasks; "
    code += "print(json.dumps(tasks.rows(json.loads(sys.argv[1]), 'F1 (%)')))"
    command = [sys.executable, "-c", code, json.dumps(results)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr[-3000:]
    baseline, mix = json.loads(result.stdout)
    nothing = {"standard deviation": "", "processor seconds": "", "shares of the layers": ""}
    assert baseline == {"vectors": "baseline", "F1 (%)": 50.0, **nothing}
    assert mix == {
        "vectors": "mix",
        "F1 (%)": 71.0,
        "standard deviation": "1.4",
        "processor seconds": 4.0,
        "shares of the layers": [0.4, 0.6],
    }


@pytest.mark.slow
def test_it_runs(small_folder, tmp_path, run_benchmark):
    text = ROOT / "examples/data/reviews.train.tsv"
    arguments = ["benchmarks.tasks", "--small", "--seeds", "1", "--text", text, small_folder]
    results, _ = run_benchmark(*arguments)
    tables = results["tables"]
    assert len(tables) == 3
    for rows in tables.values():
        names = [row["vectors"] for row in rows]
        assert [name for name in names if name.startswith("layer")] == [
            "layer 0",
            "layer 1",
            "layer 2",
        ]
        assert "mix" in names and sum(name.startswith("static vectors of") for name in names) == 1
    # What is there is not measured again.
    del tables["Sentiment (SST-2)"][3:]
    tables["Sentiment (SST-2)"][2]["accuracy (%)"] = 12.5
    (tmp_path / "results/tasks.json").write_text(json.dumps(results))
    again = run_benchmark(*arguments, "--resume")[0]["tables"]
    assert again["Sentiment (SST-2)"][:3] == tables["Sentiment (SST-2)"]
    assert len(again["Sentiment (SST-2)"]) == 11
