"""The TFLite benchmark runs, on the tiny shape; no time is asserted."""

import pytest


@pytest.mark.slow
def test_it_runs_and_writes_every_table(run_benchmark):
    pytest.importorskip("ai_edge_litert")
    results, text = run_benchmark("benchmarks.tflite", "--small")
    assert list(results["tables"]) == [
        "text in, batch 1",
        "every way to call",
        "int8 with heavy tails",
    ]
    accuracy, calls, tails = results["tables"].values()
    assert [row["weights"] for row in accuracy] == ["float32", "float16", "int8"]
    assert len(calls) == 6 and len(tails) == 3
    for row in accuracy:
        for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo"):
            assert row[f"cosine of {name}"] >= (0.99 if row["weights"] == "int8" else 0.99999)
    assert "### every way to call" in text and "| tiny | int8 |" in text
