import concurrent.futures
import io
import os
import re
import signal
import subprocess
import sys

import pytest

import keras_elmo
from keras_elmo_cli import info
from keras_elmo_cli.main import main

EMBED = "embed - -o a.hdf5 -m m"


@pytest.mark.parametrize(
    "arguments, status, shown",
    [
        ("--help", 0, r"\n +embed +\w.*\n +info +\w.*\n +tflite +\w.*KERAS_ELMO_DEBUG=1"),
        ("train --help", 0, r"--dropout X +\(0.1\).*--learning-rate X +\(adagrad: 0.2, adam: 0.0"),
        ("--version", 0, rf"keras-elmo {re.escape(keras_elmo.__version__)}\n"),
        ("-V", 0, rf"keras-elmo {re.escape(keras_elmo.__version__)}\n"),
        ("", 2, r"\n +embed +\w.*\n +info +\w.*\n +train +\w"),
        ("plot", 2, r"\n +word +\w.*\n +cosines +\w"),
        ("dance", 2, "invalid choice: 'dance'"),
        ("info", 2, "required: MODEL"),
        ("embed - -o a.hdf5", 2, "required: -m/--model"),
        (f"{EMBED} -t moses", 2, "invalid choice: 'moses'"),
        (f"{EMBED} --token-budget x", 2, "invalid int value"),
        (f"{EMBED} --encoding hex", 2, "is no encoding 'hex'"),
        (f"{EMBED} --encoding x", 2, "is no encoding 'x'"),
        ("info small large", 2, "unrecognized arguments: large"),
        ("tflite m f --quantize int4", 2, "invalid choice: 'int4'"),
    ],
)
def test_help_and_usage(monkeypatch, arguments, status, shown):
    streams = {name: io.TextIOWrapper(io.BytesIO(), "ascii") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["keras-elmo", *arguments.split()])
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as caught:
        main()
    out, err = (stream.seek(0) or stream.read() for stream in streams.values())
    assert caught.value.code == status
    assert re.search(shown, err if status else out, re.DOTALL) and not (out if status else err)


WITHOUT = """
import sys
from keras_elmo_cli.main import main
statuses = []
for arguments in (
    "--help", "--version", "plot", "embed --help", "embd", "embed no.txt -m tiny -o a.npz",
    "vocabulary no.txt -o v.txt", "evaluate tiny run", "plot probe no.json -o a.png",
):
    try:
        statuses.append(main(arguments.split()))
    except SystemExit as error:
        statuses.append(error.code)
print(statuses, {"tensorflow", "keras", "numpy", "keras_elmo"} & sys.modules.keys())
"""


def test_help_and_missing_files_need_no_tensorflow(tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(keras_elmo.__file__))},
        capture_output=True,
        text=True,
    )
    assert process.stdout.splitlines()[-1] == "[0, 0, 2, 0, 2, 2, 2, 2, 2] set()", process.stderr


@pytest.fixture
def fail(monkeypatch):
    """Makes `info` raise an error."""

    def fail(error):
        def refuse(source):
            raise error

        monkeypatch.setattr("keras_elmo.weights.sources.open_model", refuse)

    return fail


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
def test_error_is_one_line_and_status_2(capsys, fail, error, message):
    fail(error)
    assert main(["info", "small"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(rf"keras-elmo info: error: .*{re.escape(message)}\n", err)


def test_interruption_is_status_130(capsys, fail):
    fail(KeyboardInterrupt())
    assert main(["info", "small"]) == 130
    assert capsys.readouterr() == ("", "keras-elmo: interrupted; nothing was written\n")


@pytest.mark.parametrize("fault", [AttributeError, KeyError, RuntimeError, TypeError])
def test_a_fault_of_the_program_is_not_hidden(fail, fault):
    fail(fault("a bug"))
    with pytest.raises(fault, match="a bug"):
        main(["info", "small"])


@pytest.mark.parametrize("value", ["1", "", None])
def test_an_environment_variable_shows_the_traceback_of_an_error(capsys, monkeypatch, fail, value):
    fail(ValueError("not so"))
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


def test_a_command_keeps_the_memory_that_it_frees(monkeypatch, small_folder):
    calls = []
    monkeypatch.setattr("keras_elmo.process.memory.keep_memory", lambda: calls.append(1))
    assert main(["info", str(small_folder)]) == 0 and calls == [1]


@pytest.mark.parametrize("output", ["closed pipe", "/dev/full"])
def test_an_output_that_takes_no_more_ends_the_command(monkeypatch, capfd, small_folder, output):
    """The reader has gone, or the disk is full. The error comes when the buffer is written."""
    if output == "/dev/full":
        if not os.path.exists(output):
            pytest.skip("the system has no /dev/full")
        stream = open(output, "w")
        message = "keras-elmo info: error: No space left on device: 'standard output'\n"
    else:
        read_end, write_end = os.pipe()
        os.close(read_end)
        stream, message = open(write_end, "w"), ""
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["info", str(small_folder)]) == 2
    stream.close()  # as at Python's exit, which writes what is left in the buffer
    assert capfd.readouterr() == ("", message)


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_an_encoding_without_a_character_shows_a_question_mark(monkeypatch, small_folder, encoding):
    """What a command prints may be of a user's text, or be a name of a file."""
    monkeypatch.setattr(info, "run", lambda options: print("caf\xe9 \u2026 \udcff.txt"))
    stream = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["info", str(small_folder)]) == 0
    expected = "caf\xe9 \u2026 ?.txt\n".encode(encoding, "replace")
    assert stream.buffer.getvalue() == expected
