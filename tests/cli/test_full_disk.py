"""A disk that is full, or a limit for files, ends a command with one line and status 2."""

import json
import os
import subprocess
import sys

import pytest

SIZES = (0, 200, 3_000, 20_000, 60_000)

# Each limit in turn in one process, which must not be ended by a signal, also not as it exits.
SCRIPT = """
import contextlib, io, json, os, resource, signal, sys

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing beyond the limit is an error
from keras_elmo import Elmo
from keras_elmo.cli.main import main

kind, model, folder, sizes = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
elmo = Elmo.from_pretrained(model, tokenizer="whitespace")
Elmo.from_pretrained = lambda *_, **__: elmo
list(elmo.embed(["a b"], layers="all"))  # traces, before there is a limit
text = os.path.join(os.path.dirname(model), "text.txt")
with open(text, "w") as file:
    file.writelines(f"a b c d e f g h {number}\\n" for number in range(300))


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


outputs = [os.path.join(folder, name) for name in ("out.hdf5", "out.npz")]
for size in sizes:
    for output in outputs:
        with open(output, "w") as file:
            file.write("old")
        with limited(size):
            result = run(["embed", text, "-o", output, "-m", model, "-q", "--overwrite"])
        with open(output) as file:
            print(json.dumps([*result, file.read(), sorted(os.listdir(folder))]))
        os.remove(output)
    with limited(size):
        result = save()
    print(json.dumps([*result, "old", sorted(os.listdir(folder))]))
"""


def check(kind, model, folder, sizes):
    command = [sys.executable, "-c", SCRIPT, kind, str(model), str(folder), json.dumps(sizes)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert result.returncode == 0, result.stderr
    assert "HDF5" not in result.stderr
    results = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(results) == 3 * len(sizes)
    for number, (status, message, kept, names) in enumerate(results):
        output = ["out.hdf5", "out.npz", "saved"][number % 3]
        assert status == 2 and len(message.splitlines()) == 1, (number, status, message)
        if output != "saved":
            assert message.startswith("keras-elmo embed: error: [Errno "), message
            assert names == [output]
        if output != "out.npz":  # Python's own file does not name it
            assert "File too large" in message or "No space left" in message
            assert f"{folder}/" in message and ".part" not in message
        assert kept == "old" and not [name for name in names if "part" in name or name == "saved"]


def test_a_limit_for_files(tmp_path, small_folder):
    (tmp_path / "out").mkdir()
    check("limit", small_folder, tmp_path / "out", SIZES)


def test_a_full_disk(tmp_path, small_folder):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    try:
        check("disk", small_folder, folder, SIZES)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
