"""The benchmark of the training runs, on a small model; no figure is asserted."""

import random

import pytest


@pytest.mark.slow
def test_it_runs_and_writes_every_table(run_benchmark, tmp_path):
    chance = random.Random(0)
    words = [f"w{k}" for k in range(150)]
    for name, number in (("train.txt", 60), ("heldout.txt", 5)):
        lines = [" ".join(chance.choices(words, k=9)) for _ in range(number)]
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "vocab.txt").write_text("\n".join(["<S>", "</S>", "<UNK>", *words, ""]))
    results, text = run_benchmark("benchmarks.training", "--small", "--text", tmp_path)
    tables = {name: table["rows"] for name, table in results["tables"].items()}
    assert list(tables) == [
        "learning", "where the time goes", "size of the vocabulary", "precision",
        "the shape of tiny",
    ]  # fmt: skip
    assert [row["seed"] for row in tables["learning"]] == [1, 2, 3]
    assert [row["words"] for row in tables["size of the vocabulary"]] == [153, 400]
    assert [row["dtype"] for row in tables["precision"]] == [
        "float32", "mixed_bfloat16", "matmul_dtype bfloat16"
    ]  # fmt: skip
    numbers = [v for rows in tables.values() for row in rows for v in row.values()]
    assert all(value > 0 for value in numbers if isinstance(value, float))
    assert "| character encoder |" in text
