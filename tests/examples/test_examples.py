"""The examples run, and do what they say."""

import importlib.util
import pathlib
import re

import numpy as np
import pytest

import keras_elmo

ROOT = pathlib.Path(__file__).resolve().parents[2]


def example(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def demo_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "model"
    example("random_model").make(folder)
    return folder


def test_polysemy(demo_model):
    cosines = example("polysemy").similarities(demo_model)
    assert cosines.shape == (3, 4, 4)
    np.testing.assert_allclose(cosines[0], 1, atol=1e-5)  # layer 0 knows only the word
    assert np.all(cosines[2][~np.eye(4, dtype=bool)] < 0.9999)


def test_classifier(demo_model, tmp_path):
    module = example("classifier")
    probabilities = module.main(demo_model, tmp_path / "classifier.keras")
    np.testing.assert_array_equal(probabilities > 0.5, module.LABELS)


def test_layers():
    module = example("layers")
    vectors = module.build().predict(module.character_ids(module.SENTENCES), verbose=0)
    assert vectors.shape == (2, 64) and np.all(np.isfinite(vectors)) and np.any(vectors != 0)


def test_tflite_inference(demo_model, tmp_path):
    pytest.importorskip("ai_edge_litert")
    module = example("tflite_inference")
    words, cosines = module.main(demo_model, str(tmp_path / "elmo.tflite"))
    assert words == module.SENTENCE.split()
    assert sorted(cosines) == ["elmo", "lstm_outputs1", "lstm_outputs2", "word_emb"]
    for values in cosines.values():
        assert values.shape == (len(words),) and values.min() > 0.99
    words, outputs = module.embed(module.load(str(tmp_path / "elmo.tflite")), "")
    assert words == [] and outputs["elmo"].shape == (0, 64)


def test_the_index_names_every_example():
    index = (ROOT / "examples/README.md").read_text()
    for path in (ROOT / "examples").glob("*.py"):
        assert f"({path.name})" in index


def test_the_python_of_the_readme_runs_from_top_to_bottom(demo_model, tmp_path, monkeypatch):
    pytest.importorskip("ai_edge_litert")  # the README runs a TFLite file
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo/model").symlink_to(demo_model)
    words = ["<S>", "</S>", "<UNK>", "The", "cat", "sat", "on", "the", "mat", "."]
    own = keras_elmo.BiLanguageModel(demo_model / "options.json", words)
    own.save_pretrained(tmp_path / "my-elmo")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert len(blocks) >= 5
    scope = {}
    for block in blocks:
        exec(block, scope)
    assert scope["outputs"]["elmo"].shape == (2, 9, 64)
    words = scope["prose"](["They don't know."])["tokens"][0].numpy().tolist()
    assert words == [b"They", b"don", b"'t", b"know", b"."]
    assert scope["vectors"][0].shape == (3, 4, 64)
    assert scope["model"].predict(scope["texts"], verbose=0).shape == (2, 1)
    assert scope["mixed"].shape == (None, None, 128)
    assert scope["result"]["elmo"].shape == (1, 4, 64)
