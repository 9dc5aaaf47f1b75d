"""A limit for files, as a full disk, ends a command with one line and status 2."""

import json
import re
import shutil

import pytest
from scripts import run_python

SIZES = (0, 200, 3_000, 15_000)  # bytes of `embed`'s output that fit
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

sizes, commands = map(json.loads, sys.argv[1:])
elmo = Elmo.from_pretrained("small", tokenizer="whitespace")
Elmo.from_files = lambda *_, **__: elmo
list(elmo.embed(["a b"], layers="all"))  # traces, before there is a limit
with open("text.txt", "w") as file:
    file.writelines(f"a b c d e f g h {number}\\n" for number in range(80))
with open("vocab.txt", "w") as file:
    file.writelines(f"{word}\\n" for word in ["<S>", "</S>", "<UNK>", *map(str, range(300))])


def run(name, size, command):
    message, output = io.StringIO(), os.path.join(os.getcwd(), "outputs", name)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    with contextlib.redirect_stderr(message):
        try:
            status = main([part.replace("OUTPUT", output) for part in command])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    if name == "run":  # its logs and checkpoints stay
        shutil.rmtree(output, ignore_errors=True)
    print(json.dumps([name, status, message.getvalue(), os.listdir("outputs")]))


for name in ("out.hdf5", "out.npz"):
    output = os.path.join("outputs", name)
    for size in sizes:
        with open(output, "w") as file:
            file.write("old")
        run(name, size, ["embed", "text.txt", "-o", "OUTPUT", "-m", "small", "-q", "--overwrite"])
        assert open(output).read() == "old"
    os.remove(output)
for name, command in commands.items():
    run(name, 200, command)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory, one_layer_folder):
    """By the name of an output: statuses, messages, and the names in the folder afterwards."""
    folder = tmp_path_factory.mktemp("limit")
    shutil.copytree(one_layer_folder, folder / "small")
    (folder / "outputs").mkdir()
    result = run_python("-c", SCRIPT, *map(json.dumps, (SIZES, COMMANDS)), timeout=300, cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "HDF5" not in result.stderr
    found = {name: [] for name in ["out.hdf5", "out.npz", *COMMANDS]}
    for name, *rest in map(json.loads, result.stdout.splitlines()):
        found[name].append(rest)
    return found


@pytest.mark.parametrize("name", ["out.hdf5", "out.npz", *COMMANDS])
def test_every_command_names_the_file_that_does_not_fit(results, name):
    is_embed = name.startswith("out.")
    assert len(results[name]) == (len(SIZES) if is_embed else 1)
    for status, message, names in results[name]:
        *before, line = message.splitlines()  # before it may stand what the command read
        assert status == 2 and (not is_embed or before == [])
        assert re.match(r"keras-elmo [\w -]+: error: ", line)
        assert "File too large" in line and f"/outputs/{name}" in line, line
        assert ".part" not in line and "{{" not in line and "[Op" not in line, line
        assert names == [name] * is_embed
