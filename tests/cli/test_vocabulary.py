from keras_elmo_cli.main import main


def test_words_of_files_and_patterns(corpus_copy, capsys):
    assert main(["vocabulary", "train-*", "-o", "new.txt"]) == 0
    assert capsys.readouterr() == ("", "new.txt: 22 words, 100.0% of the text\n")
    words = (corpus_copy / "new.txt").read_text().splitlines()
    assert words[:3] == ["<S>", "</S>", "<UNK>"] and set(words[3:]) == set("abcdefghijklmnopqrs")
    assert main(["vocabulary", "train-*", "-o", "rare.txt", "--min-count", "25", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert 3 < len((corpus_copy / "rare.txt").read_text().splitlines()) < 22


def test_text_of_another_encoding(corpus_copy):
    (corpus_copy / "latin.txt").write_bytes(b"caf\xe9\n")
    command = ["vocabulary", "latin.txt", "-o", "new.txt", "--overwrite", "-q"]
    for option, word in [
        (("--encoding", "latin-1"), "caf\xe9"),
        (("--errors", "replace"), "caf\ufffd"),
    ]:
        assert main([*command, *option]) == 0
        assert (corpus_copy / "new.txt").read_text("utf-8").splitlines()[3:] == [word]


def test_reading_is_shown(corpus_copy, no_delay, capsys, monkeypatch):
    monkeypatch.setattr("keras_elmo.training.corpus.PROGRESS_LINES", 20)
    arguments = ["vocabulary", "train-*", "-o", "vocab.txt", "--overwrite"]
    assert main([*arguments, "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert main(arguments) == 0
    first, *_, end = capsys.readouterr().err.strip().split("\r")
    assert first.startswith("reading:   0%") and end.startswith("vocab.txt: ")
