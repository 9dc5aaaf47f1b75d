"""The benchmark of the corpora runs, on few lines; no figure is asserted."""

import importlib.util

import pytest
from scripts import ROOT


@pytest.mark.slow
def test_it_runs_and_writes_every_table(run_benchmark):
    arguments = ["benchmarks.corpora", "--small", "--text", ROOT / "examples/data/sentences.txt"]
    results, text = run_benchmark(*arguments)
    tables = results["tables"]
    assert list(tables) == [
        "formats, tiny",
        "formats, the original's shape",
        "time of a token by sentence length",
        "share of Python, tiny",
        "memory, a small model",
    ]
    formats = ["HDF5, all layers", "Parquet, all layers", "Parquet, pooled"]
    if importlib.util.find_spec("apache_beam"):
        formats += ["Beam, pooled, 1 process", "Beam, pooled, 2 processes"]
    assert [row["format"] for row in tables["formats, tiny"]] == formats
    rows = tables["memory, a small model"]
    assert [(row["lines"], row["rows in the manifest"]) for row in rows] == [(200, 200), (400, 400)]
    numbers = [v for rows in tables.values() for row in rows for v in row.values()]
    assert all(value > 0 for value in numbers if isinstance(value, float))
    assert "| Parquet, pooled |" in text
    assert "Received: ['speed']" in run_benchmark(*arguments, "--tables", "speed", status=1)
