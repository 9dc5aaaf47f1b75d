import sys
import types

import pytest

from keras_elmo.cli import training_report
from keras_elmo.cli.training_report import ReportBar, ReportLines, describe_corpus, step_report
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.training import Corpus, corpus

EVALUATION = {"perplexity": 12.0, "forward": 11.0, "backward": 13.0, "unknown": 0.25}


@pytest.fixture
def clock(monkeypatch):
    """The time, in a list of one number."""
    now = [100.0]
    monkeypatch.setattr(training_report.time, "perf_counter", lambda: now[0])
    return now


def trainer(step=0, num_steps=20_000):
    return types.SimpleNamespace(step=step, num_steps=num_steps, tokens_per_step=640)


def test_lines_every_hundred_steps(clock, capsys):
    with step_report(trainer(), True) as report:
        assert isinstance(report, ReportLines)
        for step in range(1, 201):
            report({"step": step, "loss": 2.0})
            clock[0] += 0.5
    tracing, first, second = capsys.readouterr().err.splitlines()
    assert tracing == "tracing the first step ..."
    # 640 tokens in half a second; 19,900 steps are left.
    expected = "step 100/20,000  loss 2.000  training perplexity 7.4  1,280 tokens/s  2:45:50 left"
    assert first == expected
    assert second.startswith("step 200/20,000  loss 2.000 ")


def test_last_step_and_evaluations_have_lines(clock, capsys):
    with ReportLines(trainer(6, 9), True) as report:
        report({"step": 7, "loss": 1.0})
        report({"step": 8, "loss": 1.0, "evaluation": EVALUATION})
        clock[0] += 1
        report({"step": 9, "loss": 2.0})
    lines = capsys.readouterr().err.splitlines()
    assert lines[1] == (
        "step 8: held-out perplexity 12.00 (forward 11.00, backward 13.00), 25.0% of its words "
        "unknown"
    )
    assert lines[2].startswith("step 9/9  loss 1.020  training perplexity 2.8")
    assert len(lines) == 3


def test_run_of_one_step_has_no_speed(clock, capsys):
    with ReportLines(trainer(0, 1), True) as report:
        report({"step": 1, "loss": 1e6})
    assert capsys.readouterr().err.splitlines()[1].startswith("step 1/1  loss 1000000.000  tr")


def test_run_that_is_done_is_not_traced(capsys):
    with ReportLines(trainer(9, 9), True):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", [ReportLines, ReportBar])
def test_nothing_is_shown_where_it_is_not_wanted(kind, capsys):
    with kind(trainer(0, 1), False) as report:
        report({"step": 1, "loss": 2.0, "evaluation": EVALUATION})
    assert capsys.readouterr() == ("", "")


def test_terminal_has_a_bar(clock, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "150")
    with step_report(trainer(0, 2), True) as report:
        assert isinstance(report, ReportBar)
        report({"step": 1, "loss": 2.0})
        clock[0] += 1
        report({"step": 2, "loss": 2.0, "evaluation": EVALUATION})
    err = capsys.readouterr().err
    assert "step 2: held-out perplexity 12.00" in err
    assert "2/2" in err and "loss 2.000  training perplexity 7.4  640 tokens/s  0:00:00 left" in err


def test_corpus_is_described_with_its_warnings(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(corpus, "_MAX_SENTENCE_TOKENS", 3)
    (tmp_path / "text.txt").write_text("a b\na b c d\n")
    words = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c"])
    text = Corpus(tmp_path / "text.txt")
    assert describe_corpus("training", text, words, True) == pytest.approx(1 / 6)
    first, warning, last = capsys.readouterr().err.splitlines()
    assert first == "reading the training text ..."
    assert warning.startswith("warning: ") and "line 2: 4 tokens" in warning
    assert last == (
        "training text: 2 sentences, 6 tokens, 16.7% of them not among the 6 words of the "
        "vocabulary"
    )
    assert describe_corpus("training", text, words, False) == pytest.approx(1 / 6)
    assert capsys.readouterr() == ("", "")
