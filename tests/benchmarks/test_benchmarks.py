"""The benchmark runs, on a small model; no figure is asserted."""

import pytest
from scripts import ROOT


@pytest.mark.slow
def test_it_runs_and_writes_every_table(run_benchmark):
    arguments = ["benchmarks", "--small", "--text", ROOT / "examples/data/sentences.txt"]
    results, text = run_benchmark(*arguments, name="inference")
    assert list(results["tables"]) == [
        "start",
        "systems",
        "token budget",
        "batch",
        "length",
        "distinct words",
        "stages of a batch of 32",
        "exported",
        "precision",
        "many languages",
        "stream, a small model",
    ]
    numbers = [
        value
        for measured in results["tables"].values()
        for row in measured["rows"]
        for name, value in row.items()
        if isinstance(value, float) and not name.startswith("largest error")
    ]
    assert len(numbers) > 40 and all(number > 0 for number in numbers)
    assert "### systems" in text and "| keras_elmo |" in text

    # Some tables anew: the others stay as they are.
    chosen = ["--tables", "stages of a batch of 32"]
    again, _ = run_benchmark(*arguments, *chosen, name="inference")
    changed = [name for name, rows in again["tables"].items() if rows != results["tables"][name]]
    assert changed == chosen[1:] and list(again["tables"]) == list(results["tables"])
    assert "Received: ['speed']" in run_benchmark(*arguments, "--tables", "speed", status=1)
