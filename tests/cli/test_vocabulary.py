import pytest


def test_words_of_files_and_patterns(corpus_copy, run):
    command = ["vocabulary", "train-*", "-o"]
    assert run(*command, "new.txt") == (0, "", "new.txt: 22 words, 100.0% of the text\n")
    words = (corpus_copy / "new.txt").read_text().splitlines()
    assert words[:3] == ["<S>", "</S>", "<UNK>"] and set(words[3:]) == set("abcdefghijklmnopqrs")
    assert run(*command, "rare.txt", "--min-count", "25", "-q") == (0, "", "")
    assert 3 < len((corpus_copy / "rare.txt").read_text().splitlines()) < 22


@pytest.mark.parametrize(
    "option, word",
    [
        ("--encoding=latin-1", "caf\xe9."),
        ("--errors=replace", "caf\ufffd."),
        ("--encoding=latin-1 -t treebank", "caf\xe9"),
    ],
)
def test_text_of_another_encoding_or_tokenizer(folder, run, option, word):
    (folder / "latin.txt").write_bytes(b"caf\xe9.\n")
    assert run("vocabulary", "latin.txt", "-o", "new.txt", *option.split())[0] == 0
    assert (folder / "new.txt").read_text("utf-8").splitlines()[-1] == word


def test_reading_is_shown(corpus_copy, no_delay, run, monkeypatch):
    monkeypatch.setattr("keras_elmo.training.corpus.PROGRESS_LINES", 20)
    first, *_, end = run("vocabulary", "train-*", "-o", "new.txt")[2].strip().split("\r")
    assert first.startswith("reading:   0%") and end.startswith("new.txt: ")
