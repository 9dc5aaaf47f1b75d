import sys

import pytest

from keras_elmo.cli import progress
from keras_elmo.cli.progress import PredictionCount, ReadingLines, reading_progress


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
