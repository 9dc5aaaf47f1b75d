"""The load test runs, on a tiny model; no figure is asserted."""

import pytest

pytest.importorskip("tensorflow_serving", reason='pip install "keras_elmo[serving]"')


@pytest.mark.slow
def test_every_answer_is_right(run_benchmark):
    results, _ = run_benchmark("benchmarks.serving", "--small", "--requests", "60")
    tables = results["tables"]
    grpc, python = tables["load"]
    assert results["faults"] == [] and (grpc["answers"], python["answers"]) == (60, 20)
    assert grpc["requests/s"] > 0 and 0 < grpc["p50 (ms)"] <= grpc["p99 (ms)"]
    assert (
        len(tables["memory of the server"]) == 6 and len(tables["one sentence of 12 tokens"]) == 2
    )
