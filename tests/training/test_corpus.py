import gzip
import os

import pytest

from keras_elmo.training import Corpus, TrainingOptions, build_vocabulary
from keras_elmo.training.corpus import check_texts
from keras_elmo.training.vocabulary import Vocabulary


def write(path, lines):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


@pytest.fixture
def corpus(tmp_path):
    for k in range(5):
        suffix = ".gz" if k % 2 else ""
        write(tmp_path / f"part{k}.txt{suffix}", [f"f{k} s{n} ." for n in range(10)])
    return Corpus(tmp_path / "part*")


def test_sentences_are_in_the_order_of_the_files(corpus):
    assert corpus.counts() == (50, 150)
    sentences = list(corpus.sentences())
    assert sentences[0] == ["f0", "s0", "."] and sentences[-1] == ["f4", "s9", "."]
    assert list(corpus.epoch(3)) == sentences


def test_an_order_for_each_seed_and_epoch(corpus):
    orders = {
        key: [tuple(sentence) for sentence in corpus.epoch(*key)]
        for key in [(0, 0), (0, 1), (1, 0)]  # epochs and seeds
    }
    assert len({tuple(order) for order in orders.values()}) == 3
    everything = sorted(map(tuple, corpus.sentences()))
    assert all(sorted(order) == everything for order in orders.values())
    assert list(map(list, orders[0, 1])) == list(corpus.epoch(0, 1))


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("bad.txt", b"", "must have words.*bad.txt"),
        ("bad.txt", b"\n \n", "must have words.*bad.txt"),
        ("bad.txt", b"ok\ncaf\xe9 !\n", "bad.txt must be utf-8, .* line 2: 'caf\ufffd !'"),
        ("bad.gz", gzip.compress(b"some words\n", mtime=0)[:-9], "must be a whole gzip file"),
    ],
)
def test_faults_are_found_when_it_is_counted(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        Corpus(tmp_path / name).counts()


def test_unknown_words_are_counted_with_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_elmo.training.corpus.PROGRESS_LINES", 2)
    write(tmp_path / "a.txt", ["a b c", "", "x <UNK>"])
    write(tmp_path / "b.txt.gz", ["a a", "b y y"])
    corpus, sizes = Corpus(str(tmp_path / "*")), []
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
    assert corpus.oov_rate(vocabulary, sizes.append) == 0.5
    assert sum(sizes) == sum(os.path.getsize(file) for file in corpus.files) and len(sizes) == 4
    for file in corpus.files:
        os.remove(file)  # They are not read again.
    assert corpus.counts() == (4, 10) and corpus.file_counts() == [(2, 5), (2, 5)]


def test_texts_must_fill_a_batch_and_a_window(corpus, tmp_path):
    """The corpus has 50 sentences of 3 tokens: 200 targets."""
    check_texts(corpus, corpus, TrainingOptions(batch_size=40, unroll_steps=5))
    with pytest.raises(ValueError, match=r"5 tokens for each of 41 lanes, 205 .*: 200$"):
        check_texts(corpus, None, TrainingOptions(batch_size=41, unroll_steps=5))
    write(tmp_path / "one.txt", ["a b"])
    with pytest.raises(ValueError, match="held-out text must have at least a window of 4 tokens"):
        check_texts(corpus, Corpus(tmp_path / "one.txt"), TrainingOptions(1, 4))


def test_a_corpus_of_another_encoding_is_read_as_its_utf_8_copy(tmp_path):
    text = "caf\xe9 na\xefve\n\ncaf\xe9 .\n"
    kwargs = {"utf-8": {}, "utf-16": {"encoding": "utf-16"}}
    found = []
    for name in kwargs:
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode(name)))
        corpus = Corpus(tmp_path / f"{name}.gz", **kwargs[name])
        build_vocabulary(corpus.files, tmp_path / "v", **kwargs[name])
        vocabulary = Vocabulary(tmp_path / "v")
        rate = corpus.oov_rate(Vocabulary([*vocabulary.words[:3], "caf\xe9"]))
        orders = list(corpus.epoch(1, 0)), list(corpus.sentences())
        found.append((vocabulary, rate, corpus.counts(), orders))
    assert found[0] == found[1] and found[0][1:3] == (0.5, (2, 4))


def test_bytes_that_cannot_be_decoded_are_replaced(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 .\n")
    assert list(Corpus(tmp_path / "a.txt", errors="replace").sentences()) == [["caf\ufffd", "."]]
    build_vocabulary(tmp_path / "a.txt", tmp_path / "v", errors="replace")
    assert Vocabulary(tmp_path / "v").words[3:] == (".", "caf\ufffd")


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "a.txt", ["the cat the", "", "dog the cat <UNK>"])
    write(tmp_path / "b.txt.gz", ["caf\u00e9 bird\u3000dog"])
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


def test_a_vocabulary_without_words_is_not_written(tmp_path):
    write(tmp_path / "a.txt", [" ", ""])
    with pytest.raises(ValueError, match="must have words"):
        build_vocabulary(tmp_path / "a.txt", tmp_path / "v")
    assert os.listdir(tmp_path) == ["a.txt"]
    for output, kwargs, message in [
        ("a.txt", {}, "file of its own"),
        ("v", {"min_count": 0}, "min_count=0"),
        ("v", {"size": 3}, "size=3"),
    ]:
        with pytest.raises(ValueError, match=message):
            build_vocabulary(tmp_path / "a.txt", tmp_path / output, **kwargs)
