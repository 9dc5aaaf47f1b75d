"""The migration pages: their new code runs, and gives the outputs that they show."""

import dataclasses
import json
import shutil

import keras
import pytest
from checkpoints import write_checkpoint
from code_blocks import ROOT, read_blocks, run_page
from scripts import run_python

import keras_elmo
from keras_elmo.training import read_options

PAGES = ROOT / "docs/migration"
TINY = ROOT / "keras_elmo/weights/tiny"
WORDS = ["<S>", "</S>", "<UNK>", "the", "cat"]
LETTERS = "a b c d e f g h i j".split()


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the pages name: a model, sentences and a vocabulary."""
    (tmp_path / "elmo-model").mkdir()
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(TINY / name, tmp_path)
        shutil.copy(TINY / name, tmp_path / "elmo-model" / name.replace("weights", "model"))
    shutil.copytree(ROOT / "examples/data", tmp_path / "examples/data")
    (tmp_path / "sentences.txt").write_text("First sentence .\nHello\n")
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return tmp_path


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_old_code_stands_beside_new_code(page):
    titles = [block.title for block in read_blocks(page) if block.language in ("python", "sh")]
    assert set(titles) == {"Before", "Now"}
    # After old code comes the new.
    for title, following in zip(titles, [*titles[1:], "the end"], strict=True):
        assert title == "Now" or following == "Now"


@pytest.mark.slow
@pytest.mark.parametrize("page", ["allennlp", "delft-flair", "simple-elmo", "tf-hub"])
def test_new_code_runs(folder, small_config, page):
    if page == "tf-hub":
        pytest.importorskip("tensorflow_hub", reason="tensorflow_hub is not installed")
    keras_elmo.BiLanguageModel(small_config, [*WORDS, "sat"]).save_pretrained(folder / "my-elmo")
    run_page(PAGES / f"{page}.md", folder)


@pytest.mark.slow
def test_the_error_of_keras_that_the_tf_hub_page_names():
    hub = pytest.importorskip("tensorflow_hub", reason="tensorflow_hub is not installed")
    with pytest.raises(ValueError) as error:
        keras.Sequential([hub.KerasLayer(lambda texts: texts)])
    message = str(error.value).partition(" Received:")[0]
    text = (PAGES / "tf-hub.md").read_text(encoding="utf-8")
    assert f'"{message}"' in text.replace("\n", " ")


RUN_CRF = """
import sys
page, folder, other_backend = sys.argv[1:]
sys.modules[other_backend] = None
from code_blocks import run_page
scope = run_page(page, folder)
x, y, found, loaded = (scope[name] for name in ("x", "y", "found", "loaded"))
assert (found == y[300:])[x[300:] > 0].all()
assert (loaded.predict(x) == scope["model"].predict(x)).all()
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend, other", [("tensorflow", "jax"), ("jax", "tensorflow")])
def test_the_crf_runs_on_tensorflow_and_on_jax_and_from_its_file(tmp_path, backend, other):
    pytest.importorskip(backend)
    arguments = PAGES / "crf.md", tmp_path, other
    result = run_python("-c", RUN_CRF, *arguments, env={"KERAS_BACKEND": backend})
    assert result.returncode == 0, result.stderr[-3000:]


@pytest.mark.slow
def test_bilm_tf(folder, small_config):
    small_config = dataclasses.replace(small_config, num_layers=1)  # takes less time to trace
    sentences = [" ".join(LETTERS[k % 6 : k % 6 + 4]) for k in range(60)]
    (folder / "train").mkdir()
    for number in range(2):
        (folder / f"train/{number}.txt").write_text("\n".join(sentences[number::2]) + "\n")
    (folder / "heldout.txt").write_text("\n".join(sentences[:8]) + "\nz\n")
    options = small_config.to_options() | {
        "batch_size": 4, "unroll_steps": 5, "dropout": 0.1, "all_clip_norm_val": 10.0,
        "n_negative_samples_batch": 4, "n_epochs": 1, "n_train_tokens": 240,
    }  # fmt: skip
    (folder / "training.json").write_text(json.dumps(options))
    write_checkpoint(folder / "checkpoint", keras_elmo.BiLanguageModel(small_config, WORDS))
    shutil.copy(folder / "vocab.txt", folder / "checkpoint")
    scope = run_page(PAGES / "bilm-tf.md", folder)
    assert scope["options"].batch_size == 4 and scope["options"].epochs == 1
    assert scope["config"] == read_options(folder / "my-elmo/options.json")[0]
    assert (folder / "my-elmo/softmax.hdf5").exists()
