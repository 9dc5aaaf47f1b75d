import gzip
import random
import shutil

import pytest

from keras_elmo.cli.main import main


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
    packed = gzip.compress((folder / "train-1.txt").read_bytes())
    (folder / "train-1.txt.gz").write_bytes(packed)
    (folder / "train-1.txt").unlink()
    with open(folder / "heldout.txt", "a") as file:
        file.write("\na b unheard-of d\n")
    output = str(folder / "vocab.txt")
    assert main(["vocabulary", str(folder / "train-*"), "-o", output, "--quiet"]) == 0
    return folder


@pytest.fixture
def corpus_copy(corpus, tmp_path, monkeypatch):
    """A working folder that holds a copy of the corpus."""
    shutil.copytree(corpus, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path
