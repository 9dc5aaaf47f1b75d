import functools
import gzip
import json
import random
import shutil

import pytest
import tensorflow as tf

from keras_elmo import Elmo
from keras_elmo_cli.main import main

OPTIONS = {
    "lstm": {"dim": 12, "projection_dim": 6, "n_layers": 1, "cell_clip": 3, "proj_clip": 3,
             "use_skip_connections": True},
    "char_cnn": {"activation": "relu", "embedding": {"dim": 4}, "filters": [[1, 4], [2, 4]],
                 "max_characters_per_token": 50, "n_characters": 261, "n_highway": 1},
    "dropout": 0.1, "batch_size": 4, "unroll_steps": 3,
    "n_epochs": 2, "n_train_tokens": 99,
}  # fmt: skip


_load_once = functools.cache(Elmo.from_files)


@pytest.fixture(scope="module")
def loaded_once(shared_elmo, small_folder):
    """Each model is loaded once, and its graphs are kept; that of `small_folder` is shared."""

    def from_files(*files, **kwargs):
        is_shared = files[2:] == (str(small_folder),) and not kwargs
        return shared_elmo if is_shared else _load_once(*files, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Elmo, "from_files", from_files)
        yield


@pytest.fixture
def eager_training():
    """Training steps run without a graph: a few of them take less than its trace."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A folder with text to train on (one file is compressed), held-out text and a vocabulary."""
    folder = tmp_path_factory.mktemp("corpus")
    words = [chr(97 + k) for k in range(20)]
    chance = random.Random(0)
    for name, count in [("train-0.txt", 60), ("train-1.txt", 60), ("heldout.txt", 5)]:
        lines = []
        for _ in range(count):
            start = chance.randrange(14)
            lines.append(" ".join(words[start : start + chance.randint(3, 6)]))
        (folder / name).write_text("\n".join(lines))
    (folder / "train-1.txt.gz").write_bytes(gzip.compress((folder / "train-1.txt").read_bytes()))
    (folder / "train-1.txt").unlink()
    with open(folder / "heldout.txt", "a") as file:
        file.write("\na b unheard-of d\n")
    (folder / "options.json").write_text(json.dumps(OPTIONS))
    output = str(folder / "vocab.txt")
    assert main(["vocabulary", str(folder / "train-*"), "-o", output, "--quiet"]) == 0
    return folder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys):
    """Runs a command: the status, and what it wrote to standard output and standard error."""

    def run(*arguments):
        return main([str(argument) for argument in arguments]), *capsys.readouterr()

    return run


@pytest.fixture
def corpus_copy(corpus, folder):
    """A working folder that holds a copy of the corpus."""
    return shutil.copytree(corpus, folder, dirs_exist_ok=True)
