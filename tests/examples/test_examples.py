"""The examples run, and do what they say."""

import re

import numpy as np
import pytest
from scripts import ROOT, load_script

import keras_elmo

SMALL = {"units": 16, "projection_dim": 8, "filters": [(1, 8), (2, 8)], "num_highway": 1}


def example(name):
    return load_script(f"examples/{name}.py")


def test_polysemy():
    module = example("polysemy")
    cosines = module.similarities()
    assert cosines.shape == (3, 4, 4)
    np.testing.assert_allclose(cosines[0], 1, atol=1e-5)  # layer 0 knows only the word
    # The neighbours of a bank of a river are such banks, and those of money's are money's.
    for layer in (1, 2):
        assert module.nearest(cosines)[layer].tolist() == [1, 0, 3, 2]


@pytest.mark.slow
def test_classifier(tmp_path):
    module = example("classifier")
    assert module.main(tmp_path / "classifier.keras") == module.LABELS


@pytest.mark.slow
def test_tagger(tmp_path):
    first, second = example("tagger").main(tmp_path / "tagger.keras", epochs=40)
    assert {"Anna Berg", "Oslo"} <= {entity.text for entity in first} and not second


def test_layers():
    module = example("layers_alone")
    vectors = module.build().predict(module.character_ids(module.SENTENCES), verbose=0)
    assert vectors.shape == (2, 64) and np.all(np.isfinite(vectors)) and np.any(vectors != 0)


@pytest.mark.slow
def test_train_bilm(tmp_path, capsys):
    sentences = ["the cat sat on the mat", "a dog ran in the park", "the dog sat in the park"]
    (tmp_path / "text.txt").write_text("\n".join(60 * sentences), encoding="utf-8")
    module = example("train_bilm")
    model, before, after = module.main(tmp_path / "text.txt", tmp_path / "model", steps=100)
    assert "step 100: perplexity" in capsys.readouterr().out
    assert 8 < before < 20 and after < 0.6 * before
    (first, *_) = model.top_words("the cat sat", k=3)
    assert first["token"] == "the" and {word for word, _ in first["forward"]} >= {"the", "a"}
    loaded = keras_elmo.Elmo.from_pretrained(tmp_path / "model")
    assert loaded(["the cat"])["elmo"].shape == (1, 2, 64)


@pytest.mark.parametrize("server", ["server.py", "mlserver_models/saved_model.py"])
def test_the_servers_need_no_keras_elmo(server):
    source = (ROOT / "examples/serving" / server).read_text()
    assert not re.search(r"^\s*(from|import) keras", source, re.MULTILINE)


def test_the_index_names_every_example():
    index = (ROOT / "examples/README.md").read_text()
    for pattern in ("*.py", "*.ipynb"):
        for path in (ROOT / "examples").glob(pattern):
            assert f"({path.name})" in index
