import json

import pytest
from scripts import ROOT


def test_a_row_has_the_mean_and_the_standard_deviation(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.tasks import row_of

    baseline = row_of("baseline", [(50.0, None, None)], "", "F1 (%)", "A")
    mix = row_of("mix", [(70.0, 3.0, 8.0), (72.0, 5.0, 10.0)], [1.0], "F1 (%)", "A")
    names = ["standard deviation", "seconds of training", "texts a second", "shares of the layers"]
    same = {"processor": "A"}
    assert baseline == {"vectors": "baseline", "F1 (%)": 50.0, **dict.fromkeys(names, ""), **same}
    values = dict(zip(names, ["1.4", 4.0, 9.0, [1.0]], strict=True))
    assert mix == {"vectors": "mix", "F1 (%)": 71.0, **values, **same}


@pytest.mark.slow
def test_it_runs(one_layer_folder, tmp_path, run_benchmark):
    arguments = ["benchmarks.tasks", "--small", "--seeds", "1", one_layer_folder]
    arguments += ["--tasks", "sentiment", "entities"]
    results, _ = run_benchmark(*arguments)
    tables = results["tables"]
    assert len(tables) == 2
    for rows in tables.values():
        names = [row["vectors"] for row in rows if not row["vectors"].startswith("MiniLM")]
        assert names[1:] == [
            "word vectors alone", "layer 0", "layer 1", "ELMo alone", "mix", "frozen", "all trained"
        ]  # fmt: skip
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
