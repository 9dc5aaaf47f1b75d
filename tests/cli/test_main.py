import concurrent.futures
import io
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
        (ValueError("two\n  lines:\n\nin my  folder/a=1"), "two lines: in my  folder/a=1"),
        (OSError("a file"), "a file"),
        (FileNotFoundError(2, "No such file or directory", "x"), "No such file or directory: 'x'"),
        (ImportError("no library"), "no library"),
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


@pytest.mark.parametrize("fault", [AttributeError, KeyError, RuntimeError, TypeError])
def test_a_fault_of_the_program_is_not_hidden(monkeypatch, fault):
    def wrong(source):
        raise fault("a bug")

    monkeypatch.setattr("keras_elmo.weights.sources.open_model", wrong)
    with pytest.raises(fault, match="a bug"):
        main(["info", "small"])


@pytest.mark.parametrize("value", ["1", "", None])
def test_an_environment_variable_shows_the_traceback_of_an_error(capsys, monkeypatch, value):
    def refuse(source):
        raise ValueError("not so")

    monkeypatch.setattr("keras_elmo.weights.sources.open_model", refuse)
    monkeypatch.delenv("KERAS_ELMO_DEBUG", raising=False)
    if value is not None:
        monkeypatch.setenv("KERAS_ELMO_DEBUG", value)
    assert main(["info", "small"]) == 2
    *traceback, line = capsys.readouterr().err.splitlines()
    assert line == "keras-elmo info: error: not so"
    assert bool(traceback) == (value == "1")
    if traceback:
        assert traceback[0].startswith("Traceback") and traceback[-1] == "ValueError: not so"
        assert "in refuse" in "".join(traceback)


def test_the_help_names_the_variable_that_shows_tracebacks(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "KERAS_ELMO_DEBUG=1" in capsys.readouterr().out


def test_a_path_in_an_error_is_as_it_was_typed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = "runs/seed=1,dropout=0.1/steps=2"
    assert main(["train", "--train", path, "--vocab", path, "-o", "run"]) == 2
    assert capsys.readouterr().err == f"keras-elmo train: error: There is no file {path}\n"


@pytest.mark.parametrize(
    "arguments, commands",
    [
        ([], ["embed", "info", "train"]),
        (["plot"], ["word", "cosines", "training"]),
        (["probe"], ["tags", "senses"]),
    ],
)
def test_a_command_without_its_subcommand_shows_them(capsys, arguments, commands):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("usage: keras-elmo")
    for command in commands:
        assert re.search(rf"^ +{command} +\w", err, re.MULTILINE)


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


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_standard_output_has_a_name(tmp_path, small_folder):
    path = os.path.dirname(os.path.dirname(keras_elmo.__file__))
    command = [sys.executable, "-m", "keras_elmo", "info", str(small_folder)]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            cwd=tmp_path,
            timeout=120,
        )
    message = b"keras-elmo info: error: [Errno 28] No space left on device: 'standard output'\n"
    assert (result.returncode, result.stderr) == (2, message)


def test_an_encoding_without_a_character_shows_a_question_mark(monkeypatch, small_folder):
    """What a command prints may be of a user's text, or be a name of a file."""

    def show(options):
        print("caf\xe9 \u2026 \udcff.txt")

    monkeypatch.setattr(info, "run", show)
    for encoding, shown in [
        ("ascii", b"caf? ? ?.txt\n"),
        ("utf-8", "caf\xe9 \u2026 ?.txt\n".encode()),
    ]:
        stream = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["info", str(small_folder)]) == 0
        assert stream.buffer.getvalue() == shown and stream.errors == "strict"


def test_the_help_is_ascii(monkeypatch):
    for arguments in (["--help"], *([module, "--help"] for module in ("similar", "train"))):
        stream = io.TextIOWrapper(io.BytesIO(), "ascii")
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 0


def test_commands_describe_themselves():
    assert info.HELP and info.DESCRIPTION.endswith(".")
