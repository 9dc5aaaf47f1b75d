import gzip
import os

import pytest

from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training import build_vocabulary


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_text("the cat the\n\ndog the cat <UNK>\n", encoding="utf-8")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write("caf\u00e9 bird\u3000dog\n")
    return [str(tmp_path / "*.txt"), tmp_path / "b.txt.gz"]


def test_special_words_then_by_count_then_by_name(files, tmp_path):
    words, share = build_vocabulary(files, tmp_path / "v")
    assert Vocabulary(tmp_path / "v").words == (
        "<S>", "</S>", "<UNK>", "the", "cat", "dog", "bird", "caf\u00e9"
    )  # fmt: skip
    assert words == 8 and share == pytest.approx(9 / 10)  # one is <UNK> itself


@pytest.mark.parametrize("kwargs", [{"min_count": 2}, {"size": 6}, {"min_count": 2, "size": 9}])
def test_rare_words_are_left_out(files, tmp_path, kwargs):
    words, share = build_vocabulary(files, tmp_path / "v", **kwargs)
    assert Vocabulary(tmp_path / "v").words[3:] == ("the", "cat", "dog")
    assert words == 6 and share == pytest.approx(7 / 10)


def test_an_empty_corpus_writes_nothing(tmp_path):
    (tmp_path / "a.txt").write_text(" \n\n")
    with pytest.raises(ValueError, match="no word in .*a.txt"):
        build_vocabulary(tmp_path / "a.txt", tmp_path / "v")
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("kwargs", [{"min_count": 0}, {"size": 3}])
def test_arguments_out_of_range(files, tmp_path, kwargs):
    with pytest.raises(ValueError, match="must be an integer of at least"):
        build_vocabulary(files, tmp_path / "v", **kwargs)
