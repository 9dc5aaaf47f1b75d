"""The probes run."""

import pytest


@pytest.mark.slow
def test_they_run(shared, small_folder, run_benchmark):
    arguments = ["--small", small_folder, "--data", shared / "data"]
    tables = run_benchmark("benchmarks.probes", *arguments)[0]["tables"]
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
