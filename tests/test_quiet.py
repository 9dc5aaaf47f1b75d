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

ROOT = pathlib.Path(keras_elmo.__file__).parent.parent
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
    monkeypatch.setenv(quiet.LEVEL, "2")


def test_log_without_errors_is_dropped_and_all_else_is_shown(capfdbinary):
    with hide_tensorflow_log():
        os.write(2, LOG)
        os.write(2, ERRORS)
        assert capfdbinary.readouterr().err == b""
    os.write(2, b"after it\n")
    assert capfdbinary.readouterr() == (b"", ERRORS + b"after it\n")


@pytest.mark.parametrize("value", ["0", "1", "", "none"])
def test_nothing_is_held_back_where_the_user_wants_the_log(capfdbinary, monkeypatch, value):
    monkeypatch.setenv(quiet.LEVEL, value)
    with hide_tensorflow_log():
        os.write(2, LOG)
        assert capfdbinary.readouterr().err == LOG
    assert os.environ[quiet.LEVEL] == value


def test_level_becomes_two_where_it_is_not_set(monkeypatch):
    monkeypatch.delenv(quiet.LEVEL)
    with hide_tensorflow_log():
        assert os.environ[quiet.LEVEL] == "2"


def test_failed_import_shows_all(capfdbinary):
    with pytest.raises(ImportError, match="no such library"), hide_tensorflow_log():
        os.write(2, LOG)
        raise ImportError("no such library")
    assert capfdbinary.readouterr().err == LOG


def test_interrupted_import_shows_no_log(capfdbinary):
    with pytest.raises(KeyboardInterrupt), hide_tensorflow_log():
        os.write(2, LOG)
        raise KeyboardInterrupt
    os.write(2, b"interrupted\n")
    assert capfdbinary.readouterr().err == b"interrupted\n"


def test_no_file_stays_open():
    before = os.dup(2)
    for _ in range(3):
        with hide_tensorflow_log():
            pass
    after = os.dup(2)
    os.close(before)
    os.close(after)
    assert after == before + 1


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
    os.write(2, b"at the end\n")
    assert capfdbinary.readouterr().err == b"the second\nat the end\n"


def test_without_a_place_for_files_nothing_is_held_back(capfdbinary, monkeypatch):
    def fail():
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(quiet.tempfile, "TemporaryFile", fail)
    with hide_tensorflow_log():
        os.write(2, LOG)
    assert capfdbinary.readouterr().err == LOG


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_process_that_is_forked_meanwhile_has_its_standard_error(capfdbinary):
    with hide_tensorflow_log():
        child = os.fork()
        if child == 0:
            os.write(2, b"the child\n")
            os._exit(0)
        os.waitpid(child, 0)
        assert capfdbinary.readouterr().err == b"the child\n"


# In processes of their own: the import of TensorFlow itself


def environment(level=None):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    # Where Jupyter's kernel sees pytest's variable, it does not capture what C++ writes.
    dropped = {quiet.LEVEL, "PYTEST_CURRENT_TEST"}
    variables = {name: value for name, value in os.environ.items() if name not in dropped}
    return variables | {"PYTHONPATH": path} | ({} if level is None else {quiet.LEVEL: level})


def run(code, level=None):
    """Runs code in a fresh process."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env=environment(level),
        capture_output=True,
        text=True,
        timeout=300,
    )


USE = 'import keras_elmo; keras_elmo.Elmo.from_pretrained("tiny")(["a b"])'
FIRST_OPERATION = 'import keras_elmo; keras_elmo.strings(["a b"])'


def test_import_and_first_use_write_nothing():
    process = run(USE)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.slow
def test_user_who_sets_the_level_sees_the_log():
    process = run("import keras_elmo", level="0")
    assert process.returncode == 0
    assert "] " in process.stderr


@pytest.mark.slow
def test_command_writes_no_log_where_keras_has_another_backend():
    """There `import keras_elmo` imports no TensorFlow, and the command line does."""
    pytest.importorskip("jax")
    command = [sys.executable, "-m", "keras_elmo", "info", "tiny"]
    variables = environment() | {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    process = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.startswith("LSTM layers")


@pytest.mark.slow
def test_import_without_standard_streams_works():
    """As under pythonw or in a daemon: nothing is open, and Python has no stream."""
    code = f"""
import os, sys
sys.stdin = sys.stdout = sys.stderr = None
out = os.dup(1)
for descriptor in range(3):
    os.close(descriptor)
{FIRST_OPERATION}
os.write(out, b"done")
"""
    process = run(code)
    assert (process.returncode, process.stdout, process.stderr) == (0, "done", "")


def test_import_that_fails_shows_the_log_and_the_error():
    code = """
import importlib.abc, os, sys

class Broken(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "keras":
            os.write(2, b"I0000 00:00:1.5    7 libx.cc:1] the reason\\n")
            raise ImportError("no keras here")

sys.meta_path.insert(0, Broken())
import keras_elmo
"""
    process = run(code)
    assert process.returncode == 1
    assert "libx.cc:1] the reason\n" in process.stderr
    assert "ImportError: no keras here" in process.stderr


@pytest.mark.slow
def test_notebook_shows_errors_only(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook()
    sources = [
        "import keras_elmo",
        FIRST_OPERATION + ";",
        "import os, time; os.write(2, b'an error'); time.sleep(1)",
    ]
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources]
    client = nbclient.NotebookClient(notebook, timeout=300)
    client.execute(cwd=str(tmp_path), env=environment())
    outputs = [cell.outputs for cell in notebook.cells]
    assert outputs[:2] == [[], []]
    assert any("an error" in output.get("text", "") for output in outputs[2])
