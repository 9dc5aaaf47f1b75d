import io
import os
import re
import signal
import sys

import pytest
from scripts import run_python

import keras_elmo
from keras_elmo_cli import info
from keras_elmo_cli.main import main


@pytest.mark.parametrize(
    "arguments, status, shown",
    [
        ("--help", 0, r"\n +embed +\w.*\n +info +\w.*\n +tflite +\w.*KERAS_ELMO_DEBUG=1"),
        ("train --help", 0, r"--dropout X +\(0.1\).*--learning-rate X +\(adagrad: 0.2, adam: 0.0"),
        ("--version", 0, rf"keras-elmo {re.escape(keras_elmo.__version__)}\n"),
        ("", 2, r"\n +embed +\w.*\n +info +\w.*\n +train +\w"),
        ("plot", 2, r"\n +word +\w.*\n +cosines +\w"),
        ("dance", 2, "invalid choice: 'dance'"),
        ("info", 2, "required: MODEL"),
        ("embed - -o a.hdf5 -m m -t moses", 2, "invalid choice: 'moses'"),
        ("embed - -o a.hdf5 -m m --encoding hex", 2, "is no encoding 'hex'"),
        ("embed - -o a.h5 -m m --token-budget 0", 2, "-budget: must be an integer of at least 1"),
        ("export a b --version-number -1", 2, "-number: must be an integer of at least 0"),
        ("info tiny --json", 2, "usage: keras-elmo info .* unrecognized arguments: --json"),
    ],
)
def test_help_and_usage(monkeypatch, arguments, status, shown):
    streams = {name: io.TextIOWrapper(io.BytesIO(), "ascii") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(sys, "argv", ["keras-elmo", *arguments.split()])
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as caught:
        sys.exit(main())
    out, err = (stream.seek(0) or stream.read() for stream in streams.values())
    assert caught.value.code == status
    assert re.search(shown, err if status else out, re.DOTALL) and not (out if status else err)


WITHOUT = """
import sys
from keras_elmo_cli.main import main
statuses = []
sys.modules["matplotlib"] = None  # as if it were not installed
for arguments in (
    "--help", "--version", "plot", "embed --help", "embd", "embed no.txt -m tiny -o a.npz",
    "vocabulary no.txt -o v.txt", "evaluate tiny run", "plot probe no.json -o a.png",
    "embed a.txt -m tiny -o a.txt", "vocabulary a.txt -o a.txt --overwrite",
    "vocabulary a.txt -o b.txt", "classify train a.txt -o c.bin",
    "plot cosines a b -m tiny -o a.png", "info absent", "tag label a.txt -m absent.keras",
):
    try:
        statuses.append(main(arguments.split()))
    except SystemExit as error:
        statuses.append(error.code)
print(statuses, {"tensorflow", "keras", "numpy", "keras_elmo"} & sys.modules.keys())
"""


def test_help_and_missing_files_need_no_tensorflow(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).touch()
    process = run_python("-c", WITHOUT, cwd=tmp_path)
    statuses = [0, 0, 2, 0] + [2] * 12
    assert process.stdout.splitlines()[-1] == f"{statuses} set()", process.stderr
    assert 'Matplotlib is needed: pip install "keras-elmo[plot]"' in process.stderr


# TensorFlow as it is imported, in the place of the real one.
STUB = """
import os, sys, types
os.write(2, b"noise.")
{}
config = types.SimpleNamespace(list_physical_devices=lambda: os.write(2, b"noise."))
"""
START = """
import os
from keras_elmo_cli import main
main.import_library()
import tensorflow
os.write(2, b"end")
"""


@pytest.mark.parametrize(
    ("outcome", "variables", "shown"),
    [
        ("", {}, "end"),
        ("", {"KERAS_ELMO_DEBUG": "1"}, "noise.end"),
        ("raise ImportError('undefined symbol')", {}, "noise.Traceback .* undefined symbol"),
        ("os.abort()", {}, "noise."),
    ],
)
def test_the_lines_of_tensorflows_start_are_shown_if_it_fails(tmp_path, outcome, variables, shown):
    (tmp_path / "tensorflow.py").write_text(STUB.format(outcome))
    (tmp_path / "keras_elmo.py").write_text("import tensorflow")
    process = run_python("-c", START, env=variables, cwd=tmp_path)
    assert re.fullmatch(shown, process.stderr.strip(), re.DOTALL)


@pytest.fixture
def run_info(monkeypatch):
    """Runs `info` with another function, or with one that raises an error."""

    def run_info(function=None, error=None):
        def refuse(options):
            raise error

        monkeypatch.setattr(info, "run", refuse if error else function)
        return main(["info", "small"])

    return run_info


ERROR = "keras-elmo info: error: "


@pytest.mark.parametrize(
    "error, status, message",
    [
        (ValueError("two\n  lines:\n\nin my  dir/a=1"), 2, f"{ERROR}two lines: in my  dir/a=1"),
        (FileNotFoundError(2, "No such file", "x"), 2, f"{ERROR}No such file: 'x'"),
        (ImportError("no library"), 2, f"{ERROR}no library"),
        (MemoryError(), 2, f"{ERROR}MemoryError"),
        (KeyboardInterrupt(), 130, "keras-elmo: interrupted; nothing was written"),
    ],
)
def test_an_error_is_one_line(capsys, run_info, error, status, message):
    assert run_info(error=error) == status
    assert capsys.readouterr() == ("", f"{message}\n")


@pytest.mark.parametrize("fault", [AttributeError, KeyError, RuntimeError, TypeError])
def test_a_fault_of_the_program_is_not_hidden(run_info, fault):
    with pytest.raises(fault, match="a bug"):
        run_info(error=fault("a bug"))


def test_an_environment_variable_shows_the_traceback_of_an_error(capsys, monkeypatch, run_info):
    monkeypatch.setenv("KERAS_ELMO_DEBUG", "1")
    assert run_info(error=ValueError("not so")) == 2
    first, *traceback, last, line = capsys.readouterr().err.splitlines()
    assert first.startswith("Traceback") and "in refuse" in "".join(traceback)
    assert (last, line) == ("ValueError: not so", f"{ERROR}not so")


def test_sigterm_is_status_143(capsys, run_info, monkeypatch):
    """And a command keeps the memory that it frees."""
    kept = []
    monkeypatch.setattr("keras_elmo.process.memory.keep_memory", lambda: kept.append(1))

    def terminated(options):
        os.kill(os.getpid(), signal.SIGTERM)
        print("The handler does not raise.")

    before = signal.getsignal(signal.SIGTERM)
    assert run_info(terminated) == 143 and kept == [1]
    said = "keras-elmo: terminated; all was done already\n"
    assert capsys.readouterr() == ("The handler does not raise.\n", said)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("arguments", [["info", "small"], ["--version"], ["--help"]])
@pytest.mark.parametrize("output", ["closed pipe", "/dev/full"])
def test_an_output_that_takes_no_more_ends_the_command(monkeypatch, capfd, arguments, output):
    """The reader has gone, or the disk is full. The error comes when the buffer is written."""
    if output == "/dev/full":
        if not os.path.exists(output):
            pytest.skip("the system has no /dev/full")
        stream = open(output, "w")
        name = "keras-elmo info" if "info" in arguments else "keras-elmo"
        message = f"{name}: error: No space left on device: 'standard output'\n"
    else:
        read_end, write_end = os.pipe()
        os.close(read_end)
        stream, message = open(write_end, "w"), ""
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(info, "run", lambda _: print("rows"))
    assert main(arguments) == 2
    stream.close()  # as at Python's exit, which writes what is left in the buffer
    assert capfd.readouterr() == ("", message)


@pytest.mark.parametrize(
    ("is_terminal", "variables", "encoding"),
    [(False, {}, "utf-8"), (False, {"PYTHONIOENCODING": "ascii"}, "ascii"), (True, {}, "ascii")],
)
def test_a_file_gets_utf_8_and_a_terminal_question_marks(
    monkeypatch, run_info, is_terminal, variables, encoding
):
    """What a command prints may be of a user's text, or be a name of a file."""
    stream = io.TextIOWrapper(io.BytesIO(), "ascii", write_through=True)
    monkeypatch.setattr(stream.buffer, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.setattr(sys, "stdout", stream)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert run_info(lambda options: print("caf\xe9 \u2026 \udcff.txt")) == 0
    expected = "caf\xe9 \u2026 ?.txt\n".encode(encoding, "replace")
    assert stream.buffer.getvalue() == expected
