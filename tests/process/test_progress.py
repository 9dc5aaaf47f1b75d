import sys

import pytest

from keras_elmo.process import progress
from keras_elmo.process.progress import ProgressDisplay


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list of one number."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def make_terminal(monkeypatch, columns=120):
    """Makes standard error a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(columns))


def embed_corpus(clock, **kwargs):
    """Shows half a minute of work that an earlier run began."""
    with ProgressDisplay("embedding", rate_unit="tokens", **kwargs) as display:
        for second in range(31):
            display.total = 1200
            display.update(100 + 10 * second, 100 * second, f"{1 + second // 10}/12 shards")
            clock[0] += 1


def test_a_file_has_a_line_every_ten_seconds(clock, capsys):
    embed_corpus(clock, is_transient=True)
    assert capsys.readouterr() == (
        "",
        "embedding: 200/1,200 sentences, 100 tokens/s, 0:01:40 left, 2/12 shards\n"
        "embedding: 300/1,200 sentences, 100 tokens/s, 0:01:30 left, 3/12 shards\n"
        "embedding: 400/1,200 sentences, 100 tokens/s, 0:01:20 left, 4/12 shards\n",
    )


@pytest.mark.parametrize("columns", [120, 80])
def test_a_terminal_has_a_bar_which_is_cut_before_the_text(clock, capsys, monkeypatch, columns):
    make_terminal(monkeypatch, columns)
    embed_corpus(clock)
    out, err = capsys.readouterr()
    assert out == "" and "embedding" in err and "\u2501" in err and "\x1b[" in err
    assert "400/1,200 sentences, 100 tokens/s, 0:01:20 left" in err
    assert "200/1,200 sentences" in err  # not only the last state
    assert ("2/12 shards" in err and "4/12 shards" in err) or columns == 80


@pytest.mark.parametrize("is_transient", [False, True])
def test_only_work_without_a_summary_has_a_last_line(clock, capsys, is_transient):
    with ProgressDisplay("reading", 3_000_000, "MB", is_transient=is_transient) as display:
        display.advance(1_000_000)
        clock[0] += 4
        display.advance(2_000_000)
    line = "reading: 3.0/3.0 MB, 0.5 MB/s, in 0:00:04\n"
    assert capsys.readouterr().err == ("" if is_transient else line)


def test_work_of_unknown_length_is_counted(clock, capsys):
    with ProgressDisplay("embedding") as display:
        display.advance(1)
        clock[0] += 2
        display.advance(5)
    assert capsys.readouterr().err == "embedding: 6 sentences, 2.5 sentences/s\n"


def test_lines_after_counts(clock, capsys):
    with ProgressDisplay("training", 250, "steps", start=99, line_every=100) as display:
        for step in range(100, 251):
            display.update(step, note="loss 2")
            clock[0] += 0.5
            if step == 200:
                display.print("step 200 [bold]")
    assert capsys.readouterr().err.splitlines() == [
        "training: 100/250 steps, loss 2",
        "training: 200/250 steps, 2 steps/s, 0:00:25 left, loss 2",
        "step 200 [bold]",
        "training: 250/250 steps, 2 steps/s, in 0:01:15, loss 2",
    ]


def test_after_an_error_nothing_is_added(clock, capsys):
    with pytest.raises(ValueError):
        with ProgressDisplay("reading") as display:
            display.advance(1)
            raise ValueError
    assert capsys.readouterr().err == ""


def test_nothing_is_shown_if_it_is_not_wanted(clock, capsys, monkeypatch):
    make_terminal(monkeypatch)
    embed_corpus(clock, is_shown=False)
    with ProgressDisplay("training", is_shown=False) as display:
        display.print("a line")
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_lines(clock, capsys, monkeypatch):
    make_terminal(monkeypatch)
    # As rich sees a notebook; ipywidgets would show nothing in a saved one.
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    embed_corpus(clock, is_transient=True)
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == "embedding: 200/1,200 sentences, 100 tokens/s, 0:01:40 left, 2/12 shards"


def test_what_is_printed_meanwhile_stays_in_its_pipe(capsys, monkeypatch):
    make_terminal(monkeypatch)
    with ProgressDisplay("embedding") as display:
        display.advance(1)
        print("a result")
    assert capsys.readouterr().out == "a result\n"


def test_embedding_shows_it(elmo, capsys):
    elmo.embed(["a b", "c"], progress=True)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("embedding: 2/2 sentences")
    elmo.embed(["a b"])
    assert capsys.readouterr().err == ""
