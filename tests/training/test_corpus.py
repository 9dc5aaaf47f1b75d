import gzip
import os

import numpy as np
import pytest

from keras_elmo.text.tokenizers import TOKENIZERS
from keras_elmo.training import Corpus, build_vocabulary
from keras_elmo.training.corpus import check_texts
from keras_elmo.training.vocabulary import Vocabulary


def write(path, *lines):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


@pytest.fixture
def corpus(tmp_path):
    for k in range(5):
        suffix = ".gz" if k % 2 else ""
        write(tmp_path / f"part{k}.txt{suffix}", *(f"f{k} s{n} ." for n in range(10)))
    return Corpus(tmp_path / "part*")


def test_an_order_for_each_seed_and_epoch(corpus):
    assert corpus.counts() == (50, 150)
    sentences = list(corpus.sentences())
    assert sentences[0] == ["f0", "s0", "."] and sentences[-1] == ["f4", "s9", "."]
    assert list(corpus.epoch(3)) == sentences
    orders = [list(corpus.epoch(epoch, seed)) for epoch, seed in [(0, 0), (0, 1), (1, 0)]]
    assert orders[0] != orders[1] != orders[2] != orders[0]
    assert all(sorted(order) == sorted(sentences) for order in orders)
    assert list(corpus.epoch(0, 1)) == orders[1]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_blank_lines_do_not_count_in_an_order(tmp_path, monkeypatch, tokenizer):
    monkeypatch.setattr("keras_elmo.training.corpus._SHUFFLED_LINES", 5)
    write(tmp_path / "a.txt", "a b", "", "c .", "\t", "d", "\u3000 \u3000", "\0", *"efgh", " ")
    corpus = Corpus(tmp_path / "a.txt", tokenizer=tokenizer)
    sentences, rng, expected = list(corpus.sentences()), np.random.default_rng([7, 2, 0]), []
    assert len(sentences) == (10 if tokenizer == "space" else 8)
    for start in range(0, len(sentences), 5):
        block = sentences[start : start + 5]
        expected += [block[index] for index in rng.permutation(len(block))]
    assert list(corpus.epoch(2, 7)) == expected


def test_a_tokenizer_splits_the_lines(tmp_path):
    write(tmp_path / "a.txt", "It sat.", " ", "(a)")
    corpus = Corpus(tmp_path / "a.txt", tokenizer="treebank")
    assert list(corpus.sentences()) == [["It", "sat", "."], ["(", "a", ")"]]
    letters = Corpus(corpus.files, tokenizer="characters")
    assert build_vocabulary(letters, tmp_path / "v")[0] == 3 + 7
    with pytest.raises(ValueError, match="`tokenizer` must be one of"):
        Corpus(tmp_path / "a.txt", tokenizer="moses")


@pytest.mark.parametrize("name", ["a.fasta", "a.fa.gz"])
def test_the_letters_of_fasta_are_tokens(tmp_path, name):
    write(tmp_path / name, ">P1 a protein", "MK", "T", ">P2", "V")
    corpus = Corpus(tmp_path / name, tokenizer="characters")
    assert list(corpus.sentences()) == [["M", "K", "T"], ["V"]]
    with pytest.raises(ValueError, match="must be tokens: `tokenizer=characters`.*=whitespace"):
        Corpus(tmp_path / name)
    write(tmp_path / name, "", "Persian", "> text")
    assert list(Corpus(tmp_path / name).sentences()) == [["Persian"], [">", "text"]]


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("bad.txt", b"\n \n", "must have words"),
        ("bad.txt", b"ok\ncaf\xe9 !\n", "bad.txt must be utf-8, .* line 2: 'caf\ufffd !'"),
        ("bad.gz", gzip.compress(b"some words\n", mtime=0)[:-9], "must be a whole gzip file"),
    ],
)
def test_faults_are_found_when_it_is_counted(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        Corpus(tmp_path / name).counts()
    with pytest.raises(ValueError, match=message):
        build_vocabulary(Corpus(tmp_path / name), tmp_path / "v")
    assert os.listdir(tmp_path) == [name]


def test_unknown_words_are_counted_with_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr("keras_elmo.training.corpus.PROGRESS_LINES", 2)
    write(tmp_path / "a.txt", "a b c", "", "x <UNK>")
    write(tmp_path / "b.txt.gz", "a a", "b y y")
    corpus, sizes = Corpus(str(tmp_path / "*")), []
    vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b"])
    assert corpus.oov_rate(vocabulary, sizes.append) == 0.5
    assert sum(sizes) == sum(os.path.getsize(file) for file in corpus.files) and len(sizes) == 4
    for file in corpus.files:
        os.remove(file)  # They are not read again.
    assert corpus.counts() == (4, 10) and corpus.file_counts() == [(2, 5), (2, 5)]


def test_texts_must_fill_a_batch_and_a_window(corpus, tmp_path):
    """The corpus has 50 sentences of 3 tokens: 200 targets."""
    check_texts(corpus, corpus, 40, 5)
    with pytest.raises(ValueError, match="`batch_size` windows of `unroll_steps` .*: 205 .*: 200$"):
        check_texts(corpus, None, 41, 5)
    write(tmp_path / "one.txt", "a b")
    with pytest.raises(ValueError, match="held-out text must fill a window .*: 4 in all"):
        check_texts(corpus, Corpus(tmp_path / "one.txt"), 1, 4)


@pytest.mark.parametrize(
    "encoding, errors, word", [("utf-16", "strict", "caf\xe9"), ("utf-8", "replace", "caf\ufffd")]
)
def test_a_corpus_of_another_encoding(tmp_path, encoding, errors, word):
    data = "caf\xe9 na\xefve\n\ncaf\xe9 .\n".encode("utf-16" if encoding == "utf-16" else "latin-1")
    (tmp_path / "a.gz").write_bytes(gzip.compress(data))
    corpus = Corpus(tmp_path / "a.gz", encoding, errors)
    build_vocabulary(corpus, tmp_path / "v")
    assert Vocabulary(tmp_path / "v").words[3] == word
    assert list(corpus.sentences())[1] == [word, "."] and corpus.counts() == (2, 4)
    assert sorted(corpus.epoch(1, 0)) == sorted(corpus.sentences())


@pytest.fixture
def files(tmp_path):
    write(tmp_path / "a.txt", "the cat the", "", "dog the cat <UNK>")
    write(tmp_path / "b.txt.gz", "caf\u00e9 bird\u3000dog")
    return [str(tmp_path / "*.txt"), tmp_path / "b.txt.gz"]


@pytest.mark.parametrize(
    "kwargs, num_words",
    [({}, 8), ({"min_count": 2}, 6), ({"size": 6}, 6), ({"min_count": 2, "size": 9}, 6)],
)
def test_special_words_then_by_count_then_by_name(files, tmp_path, kwargs, num_words):
    written, share = build_vocabulary(Corpus(files), tmp_path / "v", **kwargs)
    words = "<S>", "</S>", "<UNK>", "the", "cat", "dog", "bird", "caf\u00e9"
    assert Vocabulary(tmp_path / "v").words == words[:num_words] and written == num_words
    assert share == pytest.approx((num_words + 1) / 10)  # one token is <UNK> itself


@pytest.mark.parametrize(
    "output, kwargs, message",
    [
        ("a.txt", {}, "file of its own"),
        ("v", {"min_count": 0}, "min_count=0"),
        ("v", {"size": 3}, "size=3"),
    ],
)
def test_a_vocabulary_that_cannot_be_made(files, tmp_path, output, kwargs, message):
    with pytest.raises(ValueError, match=message):
        build_vocabulary(Corpus(files), tmp_path / output, **kwargs)
