import pytest


@pytest.mark.slow
def test_it_runs(shared, tmp_path, run_benchmark):
    words = "the cat sat on the mat and a dog ran to the red house".split()
    lines = [" ".join(words[k:] + words[:k]) for k in range(12)] * 20
    vocabularies = {"few": words[:4], "all": words}
    for name, known in vocabularies.items():
        lines_of_it = ["<S>", "</S>", "<UNK>", *dict.fromkeys(known)]
        (tmp_path / f"{name}.txt").write_text("\n".join(lines_of_it))
    (tmp_path / "train.txt").write_text("\n".join(lines))
    (tmp_path / "heldout.txt").write_text("\n".join(lines[:2]))
    models = tmp_path / "models"
    arguments = ["benchmarks.trials", models, "--small", "--train", tmp_path / "train.txt"]
    arguments += ["--heldout", tmp_path / "heldout.txt", "--vocab", tmp_path / "few.txt"]
    arguments += ["--larger", tmp_path / "all.txt", "--rows"]
    results, _ = run_benchmark(*arguments, "64 lanes", "a larger vocabulary")
    log = (models / "vocabulary.log").read_text()
    (long,), (short,) = results["tables"].values()
    assert list(short) == ["training", "held-out perplexity", "tokens/s"]
    names = ["senses, layer 1", "senses, layer 2", "EWT", "SST-2"]
    assert list(long) == ["training", "held-out perplexity", *names]
    assert 1 < short["held-out perplexity"] < long["held-out perplexity"] < 100  # fewer words
    assert all(0 < long[name] < 100 for name in names)
    # What is there stays, and a model that is there is not trained again.
    results, _ = run_benchmark(*arguments, "a larger vocabulary", "32 lanes", "--resume")
    (kept,), (first, second) = results["tables"].values()
    assert (kept, first) == (long, short) and second["training"] == "32 lanes"
    (tmp_path / "results/trials.json").unlink()
    results, _ = run_benchmark(*arguments, "a larger vocabulary")
    assert results["tables"]["5.0 million tokens"] == [long]
    assert (models / "vocabulary.log").read_text() == log
    assert sorted(path.name for path in models.glob("*.log")) == [
        "lanes.log", "short.log", "vocabulary.log"
    ]  # fmt: skip
