import sys

import pytest
import tqdm.std

from keras_elmo.process.progress import ProgressBar


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list of one number."""
    now = [100.0]
    monkeypatch.setattr(tqdm.std, "time", lambda: now[0])
    return now


def work(clock, **kwargs):
    """Shows half a minute of work that an earlier run began."""
    with ProgressBar("embedding", initial=100, **kwargs) as bar:
        for second in range(31):
            bar.total = 1200
            bar.set_postfix_str(f"{1 + second // 10}/12 shards", refresh=False)
            bar.update(10)
            clock[0] += 1


@pytest.mark.parametrize("is_terminal, least, most", [(False, 3, 5), (True, 30, 33)])
def test_it_is_written_every_ten_seconds_and_at_once_in_a_terminal(
    clock, capsys, monkeypatch, is_terminal, least, most
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    work(clock)
    out, err = capsys.readouterr()
    assert out == "" and least <= err.count("embedding") <= most
    assert "410/1200 [00:31<01:19, 10.00sentences/s, 4/12 shards]" in err.split("\r")[-1]


def test_bytes_and_unknown_lengths(clock, no_delay, capsys):
    with ProgressBar("reading", 3_000_000, "B", leave=False) as bar:
        clock[0] += 20
        bar.update(1_000_000)
    assert "1.00M/3.00M" in (err := capsys.readouterr().err) and err.endswith("\r")
    with ProgressBar("reading", unit="texts") as bar:
        bar.update(5)
    assert "5texts" in capsys.readouterr().err


def test_lines_stand_above_the_bar(no_delay, capsys):
    with ProgressBar("training", 3, "steps") as bar:
        bar.update(1)
        bar.print("step 1 [bold]")
    out, err = capsys.readouterr()
    assert out == "" and "\rstep 1 [bold]\n" in err and "1/3" in err.split("step 1 [bold]")[1]


def test_nothing_is_shown_of_short_work_and_if_it_is_not_wanted(clock, capsys):
    work(clock, is_shown=False)
    with ProgressBar("reading", 2) as bar:
        bar.update(2)
    with ProgressBar("training", is_shown=False) as bar:
        bar.print("a line")
    assert capsys.readouterr() == ("", "")


def test_embedding_shows_it(elmo, untraced, no_delay, capsys):
    elmo.embed(["a b", "c"], progress=True)
    out, err = capsys.readouterr()
    assert out == "" and "embedding: 100%" in err and "2/2" in err
