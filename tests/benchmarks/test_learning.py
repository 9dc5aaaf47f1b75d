import pytest

from keras_elmo import BiLanguageModel


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*holds no softmax")
def test_it_runs(shared, one_layer_folder, tmp_path, run_benchmark):
    sentences = ["the cat sat on the mat .", "a dog ran ."]
    (tmp_path / "heldout").mkdir()
    (tmp_path / "heldout.txt").write_text("\n".join(sentences))
    for name, sentence in zip(("cats", "dogs"), sentences, strict=True):
        (tmp_path / f"heldout/{name}.txt").write_text(sentence)
    words = ["<S>", "</S>", "<UNK>", "the", ".", "cat", "dog"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    points = []
    for seed in (5, 10):
        model = BiLanguageModel.from_pretrained(one_layer_folder, tmp_path / "vocab.txt")
        model.initialize_softmax(seed)
        model.has_softmax = True
        model.save_pretrained(tmp_path / f"{seed}")
        points.append(f"{seed}={tmp_path / str(seed)}")
    picture = tmp_path / "learning.svg"
    arguments = ["benchmarks.learning", "--small", "--heldout", tmp_path]
    run_benchmark(*arguments, points[1])
    run_benchmark(*arguments, points[0], "--shape", "other")
    points[1] = "10=nowhere"  # It is not read again.
    results, _ = run_benchmark(*arguments, *points, "--resume", "--picture", picture)
    perplexities, tasks = results["tables"].values()
    points = [(row["shape"], row["million tokens"]) for row in perplexities]
    assert points == [("other", 5), ("tiny", 5), ("tiny", 10)]
    for row in perplexities:
        assert list(row)[2:] == ["all", "cats", "dogs"]
        assert all(4 < row[name] < 12 for name in list(row)[2:])  # of 7 words, not trained
    assert perplexities[0] == {**perplexities[1], "shape": "other"}
    assert perplexities[1]["all"] != perplexities[2]["all"]
    # The same weights below other softmaxes know the same.
    assert tasks[1] == {**tasks[2], "million tokens": 5}
    assert list(tasks[0])[2:] == ["senses, layer 1", "EWT", "SST-2"]
    assert all(0 < score < 100 for score in list(tasks[0].values())[2:])
    assert "<svg" in picture.read_text(encoding="utf-8")
