import pytest


@pytest.mark.slow
def test_it_runs(run_benchmark):
    pytest.importorskip("keras_elmo_lite", reason="pip install ./lite")
    results, text = run_benchmark("benchmarks.lite", "--small")
    tables = results["tables"]
    assert [row["weights"] for row in tables["start"]] == ["int8", "float32"]
    names = [row["system"] for row in tables["systems"]]
    assert names[:2] == ["keras_elmo", "keras_elmo_lite, int8"]
    int8, float32 = tables["distance to keras_elmo"]
    assert float32["largest difference"] < 1e-5 < int8["largest difference"]
    assert min(int8[f"least cosine, layer {k}"] for k in range(3)) > 0.99
    assert "| keras_elmo_lite, int8 |" in text
