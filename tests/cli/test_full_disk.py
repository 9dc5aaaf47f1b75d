"""A disk that is full, or a limit for files, ends a command with one line and status 2."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

SIZES = (0, 200, 3_000, 15_000)
MODEL = ["-m", "small", "-q"]
# The other commands that write, by their outputs. `small` is the model's folder.
COMMANDS = {
    "words.txt": ["vocabulary", "text.txt", "-o", "OUTPUT", "-q"],
    "exported/1": ["export", "small", "OUTPUT/..", "--pooled-only", "-q"],
    "model.tflite": ["tflite", "small", "OUTPUT", "-q"],
    "word.png": ["plot", "word", "a", "text.txt", "-o", "OUTPUT", "--limit", "9", *MODEL],
    "word.svg": ["plot", "word", "a", "text.txt", "-o", "OUTPUT", "--limit", "9", *MODEL],
    "projector": ["projector", "text.txt", "a", "-o", "OUTPUT", *MODEL],
    "projector-tsv": ["projector", "text.txt", "a", "-o", "OUTPUT", "--tsv", *MODEL],
    "vectors": ["embed-corpus", "text.txt", "-o", "OUTPUT", "-l", "top", *MODEL],
    "run": ["train", "--train", "text.txt", "--vocab", "vocab.txt", "--init", "small", "-o",
            "OUTPUT", "--steps", "1", "--batch-size", "2", "--unroll-steps", "2", "-q"],
}  # fmt: skip

# Each limit in turn in one process, which must not be ended by a signal, also not as it exits.
SCRIPT = """
import contextlib, io, json, os, resource, shutil, signal, sys

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing beyond the limit is an error
from keras_elmo import Elmo
from keras_elmo_cli.main import main
import tensorflow as tf  # after keras_elmo, which hides TensorFlow's log
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # as in conftest.py

model, (folders, sizes, commands) = sys.argv[1], map(json.loads, sys.argv[2:])
elmo = Elmo.from_pretrained(model, tokenizer="whitespace")
Elmo.from_files = lambda *_, **__: elmo
list(elmo.embed(["a b"], layers="all"))  # traces, before there is a limit
text = os.path.join(os.path.dirname(model), "text.txt")
with open(text, "w") as file:
    file.writelines(f"a b c d e f g h {number}\\n" for number in range(80))
os.chdir(os.path.dirname(model))
with open("vocab.txt", "w") as file:
    file.writelines(f"{word}\\n" for word in ["<S>", "</S>", "<UNK>", *map(str, range(300))])


def run(command):
    message = io.StringIO()
    with contextlib.redirect_stderr(message):
        return main(command), message.getvalue()


def save():
    try:
        elmo.save_pretrained(os.path.join(folder, "saved"))
    except OSError as error:
        return 2, str(error) + "\\n"
    return 0, ""


@contextlib.contextmanager
def limited(size):
    if kind == "disk":  # all but `size` bytes of it are taken
        free = os.statvfs(folder)
        with open(os.path.join(folder, "taken"), "wb") as file:
            file.write(bytes(free.f_bavail * free.f_frsize - size // 4096 * 4096))
        yield
        os.remove(file.name)
        return
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)


for kind, folder in folders.items():
    outputs = [os.path.join(folder, name) for name in ("out.hdf5", "out.npz")]
    for size in sizes:
        for output in outputs:
            with open(output, "w") as file:
                file.write("old")
            with limited(size):
                result = run(["embed", text, "-o", output, "-m", model, "-q", "--overwrite"])
            with open(output) as file:
                print(json.dumps([kind, *result, file.read(), sorted(os.listdir(folder))]))
            os.remove(output)
        with limited(size):
            result = save()
        print(json.dumps([kind, *result, "old", sorted(os.listdir(folder))]))

kind, folder = "limit", folders["limit"]
for name, command in commands.items():
    output = os.path.join(folder, name)
    with limited(200):
        result = run([part.replace("OUTPUT", output) for part in command])
    if name == "run":  # its logs and checkpoints stay
        shutil.rmtree(output)
    print(json.dumps([name, *result, "", sorted(os.listdir(folder))]))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory, one_layer_folder):
    """What came of each kind of limit (the disk is left out without root), and the folders."""
    folders = {kind: str(tmp_path_factory.mktemp(kind)) for kind in ("limit", "disk")}
    disk = folders["disk"]
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk]
    is_mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True).returncode == 0
    if not is_mounted:
        del folders["disk"]
    model = str(shutil.copytree(one_layer_folder, tmp_path_factory.mktemp("model") / "small"))
    given = map(json.dumps, (folders, SIZES, COMMANDS))
    command = [sys.executable, "-c", SCRIPT, model, *given]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300
        )
    finally:
        if is_mounted:
            subprocess.run(["umount", disk], check=True)
    assert result.returncode == 0, result.stderr
    assert "HDF5" not in result.stderr
    found = {kind: [] for kind in [*folders, *COMMANDS]}
    for line in result.stdout.splitlines():
        kind, *rest = json.loads(line)
        found[kind].append(rest)
    return found, folders


@pytest.mark.parametrize("kind", ["limit", "disk"])
def test_what_does_not_fit_is_one_line_and_leaves_the_old_file(results, kind):
    found, folders = results
    if kind not in found:
        pytest.skip("mounting a small disk needs root")
    assert len(found[kind]) == 3 * len(SIZES)
    for index, (status, message, kept, names) in enumerate(found[kind]):
        output = ["out.hdf5", "out.npz", "saved"][index % 3]
        assert status == 2 and len(message.splitlines()) == 1, (index, status, message)
        if output != "saved":
            assert re.match("keras-elmo embed: error: (File|No space)", message), message
            assert names == [output]
        assert "File too large" in message or "No space left" in message
        assert f"{folders[kind]}/" in message and ".part" not in message
        assert kept == "old" and not [name for name in names if "part" in name or name == "saved"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_names_the_file_that_does_not_fit(results, name):
    found, folders = results
    ((status, message, _, names),) = found[name]
    assert status == 2
    *_, line = message.splitlines()  # before it may stand what the command read
    assert line.startswith("keras-elmo ") and ": error: " in line
    assert "File too large" in line and f"{folders['limit']}/{name}" in line, line
    assert ".part" not in line and "{{" not in line and "[Op" not in line, line
    assert names == []
