import itertools

import numpy as np
import pytest

from keras_elmo.analysis import probing


class Model:
    """A model whose layer 1 alone tells a tag: its first feature. Layer 0 knows the word."""

    class config:
        num_layers, output_dim = 2, 4

    def embed_stream(self, sentences, layers, progress=False):
        assert layers == "all"
        rng = np.random.default_rng(0)
        for tokens in sentences:
            vectors = 0.1 * rng.normal(size=(3, len(tokens), 4)).astype(np.float32)
            for k, token in enumerate(tokens):
                vectors[0, k, 0] += len(token)
                vectors[1, k, 0] += 1 if tokens[k - 1] == "to" else -1
            yield vectors


def tagged(seed, count=60):
    """Sentences where `run` is a verb after `to` and a noun after `a`."""
    rng = np.random.default_rng(seed)
    sentences = [[["to", "a"][k], "run"] for k in rng.integers(2, size=count)]
    return sentences, [["PREP", {"to": "VERB", "a": "NOUN"}[s[0]]] for s in sentences]


def test_tags_are_known_where_the_vectors_tell_them():
    test = tagged(1)
    rows = probing.probe_tags(Model(), tagged(0), {"one": test, "two": test})
    kinds = ["most frequent tag", "layer 0", "layer 1", "layer 2", "mix"]
    names = itertools.product(("one", "two"), kinds)
    assert [(row["test"], row["vectors"]) for row in rows] == list(names)
    scores = {row["vectors"]: row["accuracy"] for row in rows}
    usual = max(np.mean([tags[1] == tag for tags in test[1]]) for tag in ("VERB", "NOUN"))
    baseline = scores["most frequent tag"]
    assert baseline in (pytest.approx(0.5 + usual / 2), pytest.approx(1 - usual / 2))
    assert scores["layer 2"] < 0.7 and rows[0]["tokens"] == 120
    assert scores["mix"] > scores["layer 2"]
    weights = rows[4]["mix weights"]
    assert sum(weights) == pytest.approx(1) and weights[2] == min(weights)
    assert all("mix weights" not in row for row in rows[:4])


def test_words_without_a_tag_are_not_counted(monkeypatch):
    monkeypatch.setattr(probing, "_learned_mix", lambda *_: np.ones(3) / 3)
    sentences, tags = tagged(0)
    tags = [["_", row[1]] for row in tags]
    rows = probing.probe_tags(Model(), (sentences, tags), (sentences, tags))
    scores = {row["vectors"]: row["accuracy"] for row in rows}
    assert scores["layer 1"] == 1.0 and scores["layer 2"] < 0.8
    assert rows[0]["tokens"] == 60 and rows[0]["test"] == "test"


def test_texts_without_tags_are_refused():
    for tags, message in ([["X"]], "1 tags"), ([["X", "X"]], "two tags"), ([["_", "_"]], "no tags"):
        with pytest.raises(ValueError, match=message):
            probing.probe_tags(Model(), ([["a", "b"]], tags), tagged(1))


def write_word(folder, golds):
    folder.mkdir()
    sentences = "".join(f"1\t{'to' if gold else 'a'} run\n" for gold in golds)
    for part in ("train", "test"):
        (folder / f"{part}.data.txt").write_text(sentences)
        (folder / f"{part}.gold.txt").write_text("".join(f"{gold}\n" for gold in golds))


def test_senses_are_known_where_the_vectors_tell_them(tmp_path):
    write_word(tmp_path / "run", [0, 1, 1, 1, 0, 1])
    write_word(tmp_path / "walk", [1, 0, 1, 0, 0, 0])
    (tmp_path / "README.txt").write_text("no word")
    rows = probing.probe_senses(Model(), tmp_path)
    kinds = ["most frequent sense", "layer 0", "layer 1", "layer 2", "average"]
    names = list(itertools.product(("run", "walk", "mean"), kinds))
    assert [(row["word"], row["vectors"]) for row in rows] == names
    scores = {(row["word"], row["vectors"]): row["f1"] for row in rows}
    # Every sentence gets the sense that four of six have: its F1 is 0.8, and the other's is 0.
    assert scores["run", "most frequent sense"] == pytest.approx(0.4)
    assert scores["run", "layer 1"] == scores["mean", "layer 1"] == 1.0
    layer_0 = scores["run", "layer 0"] + scores["walk", "layer 0"]
    assert scores["mean", "layer 0"] == pytest.approx(layer_0 / 2)
    assert [rows[0]["senses"], rows[0]["sentences"]] == [2, 6]
    assert [rows[-1]["senses"], rows[-1]["sentences"]] == [None, 12]
    assert probing.probe_senses(Model(), tmp_path / "run") == rows[:5]  # without a mean


def test_folders_without_words_are_refused(tmp_path):
    with pytest.raises(ValueError, match="train.data.txt"):
        probing.probe_senses(Model(), tmp_path)


def test_the_more_frequent_of_equally_near_senses_wins(tmp_path, monkeypatch):
    def equal_vectors(self, sentences, layers, progress=False):
        for tokens in sentences:
            noise = 1e-7 * np.random.default_rng(len(tokens)).normal(size=(3, len(tokens), 4))
            yield (1 + noise).astype(np.float32)

    monkeypatch.setattr(Model, "embed_stream", equal_vectors)
    write_word(tmp_path / "run", [1, 0, 0, 1, 1, 1])
    scores = [row["f1"] for row in probing.probe_senses(Model(), tmp_path)]
    assert scores == pytest.approx([0.4] * 5)
