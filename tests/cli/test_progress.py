import sys

import pytest

from keras_elmo.cli import progress
from keras_elmo.cli.progress import (
    CorpusProgress,
    PredictionCount,
    ReadingLines,
    reading_progress,
)
from keras_elmo.corpora.run import Progress


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list of one number."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.fixture
def files(tmp_path):
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path, size in zip(paths, (30, 10), strict=True):
        path.write_bytes(bytes(size))
    return paths


def test_lines_come_every_ten_seconds(clock, files, capsys):
    with reading_progress(files) as advance:
        assert isinstance(advance, ReadingLines)
        advance(10)
        clock[0] += 11
        advance(10)
        advance(10)
        clock[0] += 9
        advance(5)
        clock[0] += 2
        advance(5)
    assert capsys.readouterr() == ("", "reading: 50%\nreading: 100%\n")


def test_nothing_is_shown_of_nothing(files, tmp_path, capsys):
    with reading_progress(files, is_shown=False) as advance:
        assert advance is None
    (tmp_path / "empty.txt").write_bytes(b"")
    with reading_progress([tmp_path / "empty.txt"]) as advance:
        assert advance is None
    assert capsys.readouterr() == ("", "")


def test_terminal_has_a_bar(files, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    with reading_progress(files) as advance:
        assert not isinstance(advance, ReadingLines)
        advance(40)
    err = capsys.readouterr().err
    assert "reading" in err and "40/40 bytes" in err


def test_predictions_are_counted_in_a_terminal(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with PredictionCount() as count:
        count(1000)
        count(100)  # too soon
        clock[0] += 1
        count(50)
    expected = "\r1,000 predictions\r1,150 predictions\r\x1b[K"
    assert capsys.readouterr() == ("", expected)


def test_predictions_are_not_shown_elsewhere(capsys):
    with PredictionCount() as count:
        count(1000)
    assert capsys.readouterr() == ("", "") and count.count == 1000


def corpus_progress(rows, shards, tokens):
    return Progress(100 + rows, 1200, 1 + shards, 12, rows, tokens)


def test_a_corpus_has_a_line_every_ten_seconds(clock, capsys):
    with CorpusProgress() as progress:
        for second in range(31):
            progress(corpus_progress(10 * second, second // 10, 100 * second))
            clock[0] += 1
    assert capsys.readouterr() == (
        "",
        "embedding: 200/1,200 sentences, 100 tokens/s, 0:01:40 left, 2/12 shards\n"
        "embedding: 300/1,200 sentences, 100 tokens/s, 0:01:30 left, 3/12 shards\n"
        "embedding: 400/1,200 sentences, 100 tokens/s, 0:01:20 left, 4/12 shards\n",
    )
    assert progress.last == corpus_progress(300, 3, 3000)


def test_a_corpus_has_a_bar_in_a_terminal_and_nothing_if_quiet(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    for is_shown in (True, False):
        with CorpusProgress(is_shown) as progress:
            progress(corpus_progress(0, 0, 0))
            clock[0] += 60
            progress(corpus_progress(300, 3, 3000))
        err = capsys.readouterr().err
        expected = "400/1,200 sentences, 50 tokens/s, 0:02:40 left, 4/12 shards"
        assert (expected in err) == is_shown and (err != "") == is_shown
