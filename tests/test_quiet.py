"""TensorFlow's log is held back where it reports no error, and nothing else is."""

import os
import pathlib
import subprocess
import sys
import threading

import pytest

import keras_elmo
from keras_elmo import quiet
from keras_elmo.quiet import hide_tensorflow_log

LOG = b"""\
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1795286128.256471    6054 cudart_stub.cc:31] Could not find cuda drivers on your machine
W0000 00:00:1795286128.438932    6054 gpu_device.cc:2341] Cannot dlopen some GPU libraries.
Skipping registering GPU devices...
To enable the following instructions: AVX2 FMA, in other operations, rebuild TensorFlow.
2026-01-31 12:00:00.123456: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.
E0000 00:00:1795286132.445710    6054 cuda_platform.cc:52] failed call to cuInit: INTERNAL: \
CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)
2026-01-31 12:00:00.1: E external/cuda_fft.cc:467] Unable to register cuFFT factory: Attempting
"""
ERRORS = b"""\
E0000 00:00:1795286132.445710    6054 cuda_platform.cc:52] failed call to cuInit: ERROR (999)
2026-01-31 12:00:00.123456: E tensorflow/core/platform/x.cc:1] an error
F0000 00:00:1795286132.445710    6054 cpu_feature_guard.cc:1] a fatal error
a line of another thread
"""


@pytest.fixture(autouse=True)
def level(monkeypatch):
    monkeypatch.delenv(quiet.LEVEL, raising=False)


def test_log_without_errors_is_dropped_and_all_else_is_shown(capfdbinary):
    with hide_tensorflow_log():
        assert os.environ[quiet.LEVEL] == "2"
        os.write(2, LOG + ERRORS)
        assert capfdbinary.readouterr().err == b""
        os.write(quiet.standard_error, b"now\n")
        assert capfdbinary.readouterr().err == b"now\n"
    os.write(2, b"after it\n")
    assert capfdbinary.readouterr() == (b"", ERRORS + b"after it\n")


def fail():
    raise FileNotFoundError("no usable temporary directory")


@pytest.mark.parametrize("value", ["0", "1", "", "none", "2"])
def test_all_is_shown_where_it_is_wanted_or_has_no_place(capfdbinary, monkeypatch, value):
    monkeypatch.setenv(quiet.LEVEL, value)
    monkeypatch.setattr(quiet.tempfile, "TemporaryFile", fail)
    with hide_tensorflow_log():
        os.write(2, LOG)
        assert capfdbinary.readouterr().err == LOG


@pytest.mark.parametrize("error, shown", [(ImportError, LOG), (KeyboardInterrupt, b"")])
def test_failed_import_shows_all(capfdbinary, error, shown):
    with pytest.raises(error), hide_tensorflow_log():
        os.write(2, LOG)
        raise error
    assert capfdbinary.readouterr().err == shown


def test_two_threads_give_standard_error_back(capfdbinary):
    """The one that comes first holds back, also where it goes first."""
    entered, left = threading.Event(), threading.Event()

    def second():
        with hide_tensorflow_log():
            entered.set()
            left.wait(60)
            os.write(2, b"the second\n")

    thread = threading.Thread(target=second)
    with hide_tensorflow_log():
        thread.start()
        assert entered.wait(60)
        os.write(2, LOG)
    left.set()
    thread.join()
    assert capfdbinary.readouterr().err == b"the second\n"


# In processes of their own: the import of TensorFlow itself

USE = 'import keras_elmo; keras_elmo.Elmo.from_pretrained("tiny")(["a b"]); print("done")'
# As under pythonw or in a daemon: nothing is open, and Python has no stream.
CLOSED = f"import os, sys; sys.stdin = sys.stdout = sys.stderr = None; os.closerange(0, 3); {USE}"
# There `import keras_elmo` imports no TensorFlow, and the command line does.
JAX = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}


@pytest.mark.parametrize(
    "arguments, variables, start",
    [
        (["-c", USE], {}, "done"),
        pytest.param(["-c", CLOSED], {}, "", marks=pytest.mark.slow),
        pytest.param(
            ["-m", "keras_elmo", "info", "tiny"], JAX, "LSTM layers", marks=pytest.mark.slow
        ),
    ],
    ids=["import", "closed streams", "command with JAX"],
)
def test_first_use_writes_nothing_to_standard_error(arguments, variables, start):
    pytest.importorskip(variables.get("KERAS_BACKEND", "keras"))
    root = str(pathlib.Path(keras_elmo.__file__).parent.parent)
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    process = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith(start)
