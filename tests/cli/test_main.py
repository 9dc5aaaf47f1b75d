import concurrent.futures
import os
import re
import signal
import subprocess
import sys

import pytest

import keras_elmo
from keras_elmo.cli import info
from keras_elmo.cli.main import main


@pytest.mark.parametrize(
    "arguments", [["--help"], ["embed", "--help"], ["info", "--help"], ["tflite", "--help"]]
)
def test_help_says_how_it_is_used(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    out, err = capsys.readouterr()
    assert out.startswith("usage: keras-elmo")
    assert err == ""


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    out = capsys.readouterr().out
    for command in ("embed", "info", "tflite"):
        assert re.search(rf"^ +{command} +\w", out, re.MULTILINE)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_version(capsys, option):
    with pytest.raises(SystemExit) as caught:
        main([option])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"keras-elmo {keras_elmo.__version__}\n"


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "required: COMMAND"),
        (["dance"], "invalid choice: 'dance'"),
        (["info"], "required: MODEL"),
        (["embed", "-", "-m", "small"], "required: -o/--output"),
        (["embed", "-", "-o", "a.hdf5"], "required: -m/--model"),
        (["embed", "-", "-o", "a.hdf5", "-m", "m", "-t", "moses"], "invalid choice: 'moses'"),
        (["embed", "-", "-o", "a.hdf5", "-m", "m", "--token-budget", "x"], "invalid int value"),
        (["info", "small", "large"], "unrecognized arguments: large"),
        (["embed", "-", "-o", "a.hdf5", "-m", "m", "--encoding", "x"], "is no encoding 'x'"),
        (["embed", "-", "-o", "a.hdf5", "-m", "m", "--encoding", "hex"], "is no encoding 'hex'"),
        (["tflite", "m"], "required: FILE"),
        (["tflite", "m", "f", "--quantize", "int4"], "invalid choice: 'int4'"),
    ],
)
def test_wrong_arguments_end_with_status_2_and_the_usage(capsys, arguments, message):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    err = capsys.readouterr().err
    assert err.startswith("usage: keras-elmo")
    assert message in err.splitlines()[-1]


@pytest.mark.parametrize(
    "error, message",
    [
        (ValueError("two\nlines   and spaces"), "two lines and spaces"),
        (TypeError("a type"), "a type"),
        (OSError("a file"), "a file"),
        (FileNotFoundError(2, "No such file or directory", "x"), "No such file or directory: 'x'"),
        (ImportError("no library"), "no library"),
        (RuntimeError("another backend"), "another backend"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_error_is_one_line_and_status_2(capsys, monkeypatch, error, message):
    def fail(source):
        raise error

    monkeypatch.setattr("keras_elmo.weights.sources.open_model", fail)
    assert main(["info", "small"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"keras-elmo info: error: .*{re.escape(message)}\n", err)


def test_interruption_is_status_130(capsys, monkeypatch):
    def interrupted(source):
        raise KeyboardInterrupt

    monkeypatch.setattr("keras_elmo.weights.sources.open_model", interrupted)
    assert main(["info", "small"]) == 130
    assert capsys.readouterr() == ("", "keras-elmo: interrupted; nothing was written\n")


def test_sigterm_is_status_143(capsys, monkeypatch, small_folder):
    def terminated(options):
        os.kill(os.getpid(), signal.SIGTERM)
        print("The handler does not raise.")

    monkeypatch.setattr(info, "run", terminated)
    before = signal.getsignal(signal.SIGTERM)
    assert main(["info", str(small_folder)]) == 143
    said = "keras-elmo: terminated; all was done already\n"
    assert capsys.readouterr() == ("The handler does not raise.\n", said)
    assert signal.getsignal(signal.SIGTERM) is before


def test_command_runs_in_another_thread(capsys, small_folder):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(main, ["info", str(small_folder)]).result() == 0


def test_a_fault_of_the_program_is_not_hidden(monkeypatch):
    def wrong(source):
        raise AttributeError("a bug")

    monkeypatch.setattr("keras_elmo.weights.sources.open_model", wrong)
    with pytest.raises(AttributeError, match="a bug"):
        main(["info", "small"])


def test_arguments_are_those_of_the_process_by_default(capsys, monkeypatch, small_folder):
    monkeypatch.setattr(sys, "argv", ["keras-elmo", "info", str(small_folder)])
    assert main() == 0
    assert "parameters" in capsys.readouterr().out


def test_reader_that_goes_away_gets_no_traceback(tmp_path, small_folder):
    path = os.path.dirname(os.path.dirname(keras_elmo.__file__))
    read_end, write_end = os.pipe()
    os.close(read_end)
    # Buffered, as a pipe is: the error comes when the buffer is written.
    env = {**os.environ, "PYTHONPATH": path}
    env.pop("PYTHONUNBUFFERED", None)
    command = [sys.executable, "-m", "keras_elmo", "info", str(small_folder)]
    result = subprocess.run(
        command, stdout=write_end, stderr=subprocess.PIPE, env=env, cwd=tmp_path, timeout=120
    )
    os.close(write_end)
    assert result.stderr == b""
    assert result.returncode == 2


def test_commands_describe_themselves():
    assert info.HELP and info.DESCRIPTION.endswith(".")
