from keras_elmo.models import progress_bar


def test_progress_is_shown_on_standard_error(elmo, capsys):
    elmo.embed(["a b", "c"], progress=True)
    captured = capsys.readouterr()
    assert "2/2" in captured.err and captured.out == ""
    elmo.embed(["a b"])
    assert capsys.readouterr().err == ""


def test_progress_without_a_terminal_is_plain_text(elmo, capsys, monkeypatch):
    # As rich sees a notebook; ipywidgets would show nothing in a saved one.
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress_bar, "_SECONDS_OF_A_LINE", 0)
    for terminal in (False, True):
        monkeypatch.setattr("sys.stderr.isatty", lambda terminal=terminal: terminal, raising=False)
        elmo.embed((text for text in ["a b", "c", "d"]), token_budget=4, progress=True)
        lines = capsys.readouterr().err.splitlines()
        counts = [line.rpartition(",")[0] for line in lines]
        assert counts == [f"sentences: {count}" for count in (1, 2, 3)]


def test_progress_in_a_terminal_is_a_bar(elmo, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    elmo.embed(["a b", "c"], progress=True)
    error = capsys.readouterr().err
    assert "2/2" in error and "\u2501" in error and "\x1b[" in error
