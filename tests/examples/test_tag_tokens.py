import importlib.util
import pathlib

import keras
import numpy as np
import pytest

import keras_elmo

ROOT = pathlib.Path(__file__).resolve().parents[2]
pytest.importorskip("seqeval")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("tag_tokens", ROOT / "examples/tag_tokens.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_both_formats_are_read(example, tmp_path):
    rows = ["# text = don't go", "1-2\tdon't" + "\t_" * 8, "1\tdo\tdo\tAUX" + "\t_" * 6]
    rows += ["2\tn't\tnot\tPART" + "\t_" * 6, "", "1\tGo\tgo\tVERB" + "\t_" * 6]
    (tmp_path / "a.conllu").write_text("\n".join(rows))
    expected = [["do", "n't"], ["Go"]], [["AUX", "PART"], ["VERB"]]
    assert example.read(tmp_path / "a.conllu") == expected
    (tmp_path / "a.txt").write_text("Anna B-person\nmet\tx\tO\n\n\n# O\n")
    assert example.read(tmp_path / "a.txt") == (
        [["Anna", "met"], ["#"]],
        [["B-person", "O"], ["O"]],
    )


def test_scores(example):
    right = [["B-a", "I-a", "O"], ["B-b"]]
    assert example.score(right, [["B-a", "I-a", "O"], ["O"]]) == pytest.approx(100 * 2 / 3)
    assert example.score([["x", "y"], ["x"]], [["x", "x"], ["x"]]) == pytest.approx(200 / 3)
    usual = example.most_frequent_tags([["a", "b", "a"]], [["x", "y", "x"]], [["b", "c"]])
    assert usual == [["y", "x"]]


def test_batches_hold_each_sentence_once(example):
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=(2, n, 3)) for n in rng.integers(1, 9, 20)]
    tags = [[n] * x.shape[1] for n, x in enumerate(vectors)]
    batches = example.Batches(vectors, tags, rng, size=6)
    seen = []
    for x, y in (batches[k] for k in range(len(batches))):
        for row, numbers in zip(x, y, strict=True):
            count = vectors[numbers[0]].shape[1]
            seen.append(numbers[0])
            np.testing.assert_allclose(row[:count, 3:], vectors[numbers[0]][1], atol=1e-6)
            assert not row[count:].any()
    assert sorted(seen) == list(range(20))


@pytest.mark.parametrize("crf", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_it_runs_on_its_own_data_and_the_tagger_is_saved(example, crf, tmp_path):
    path = tmp_path / "tagger.keras"
    results, names, tagger = example.main(
        [*["--crf"] * crf, "--epochs", "10", "--output", str(path)]
    )
    assert list(results) == [
        "each word's most frequent tag",
        "layer 0",
        "layer 1",
        "layer 2",
        "mix",
    ]
    assert (
        max(scores[0] for scores in results.values()) > results["each word's most frequent tag"][0]
    )
    tokens = keras_elmo.strings([["Julia", "met", "Mark", "in", "Lima", "."], ["No", "."]])
    padded = tokens.to_tensor("")
    outputs = keras.models.load_model(path).predict(padded, verbose=0)
    np.testing.assert_allclose(outputs, tagger.predict(padded, verbose=0), atol=1e-5)
    tags = outputs if crf else outputs.argmax(-1)
    assert tags.shape == (2, 6) and names[tags[1, 0]] == names[tags[1, 1]] == "O"
