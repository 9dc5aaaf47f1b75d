import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from keras_elmo.analysis.occurrences import find_occurrences
from keras_elmo.analysis.projector import write_projector

SENTENCES = ["They sat on the bank .", "The\u2028bank\x07 lent 猫 bank money ."]


@pytest.fixture
def bank(elmo):
    return find_occurrences(elmo, SENTENCES, ["bank", "bank\x07"])


@pytest.mark.parametrize("tsv", [False, True])
def test_files(bank, tmp_path, tsv):
    folder = tmp_path / "a"
    write_projector(bank, folder, [0, 2], ["river", "a\tb", ""], tsv)
    names = [f"layer_{layer}.{'tsv' if tsv else 'bytes'}" for layer in (0, 2)]
    found = {path.name for path in folder.iterdir()}
    assert found == {*names, "metadata.tsv", "projector_config.pbtxt"}
    for layer, name in zip((0, 2), names, strict=True):
        path = folder / name
        found = np.loadtxt(path) if tsv else np.fromfile(path, "<f4").reshape(3, 16)
        np.testing.assert_array_equal(found.astype(np.float32), bank.vectors[layer])
    lines = (folder / "metadata.tsv").read_text(encoding="utf-8").split("\n")
    cells = [line.split("\t") for line in lines[:-1]]
    assert lines[-1] == "" and cells[0] == ["token", "line", "context", "label"]
    assert cells[1] == ["bank", "1", "They sat on the [bank] .", "river"]
    assert [row[3] for row in cells[1:]] == ["river", "a b", " "]
    assert all(len(row) == 4 for row in cells)


def test_only_such_folders_are_replaced(bank, tmp_path):
    write_projector(bank, tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/thesis.txt").write_text("mine")
    (tmp_path / "c").write_text("")
    for name, overwrite in [("a", False), ("b", True), ("c", True)]:
        with pytest.raises(FileExistsError, match=name):
            write_projector(bank, tmp_path / name, overwrite=overwrite)
    with pytest.raises(ValueError, match="1 labels"):
        write_projector(bank, tmp_path / "d", labels=["x"])
    write_projector(bank, tmp_path / "a", layers=[1], overwrite=True)
    assert not (tmp_path / "a/layer_0.bytes").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.slow
def test_tensorboard_reads_them(bank, tmp_path):
    """Asks a running TensorBoard what its page asks."""
    write_projector(bank, tmp_path, [1, 2], ["river", "money", "money"], overwrite=True)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = "127.0.0.1", str(server.getsockname()[1])
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path)]
    command += ["--host", address[0], "--port", address[1], "--load_fast=false"]

    def get(path):
        url = f"http://{':'.join(address)}/data/plugin/projector/{path}"
        with urllib.request.urlopen(url, timeout=20) as response:
            return response.read()

    def answers():
        with contextlib.suppress(urllib.error.URLError):
            return json.loads(get("runs")) == ["."]

    with subprocess.Popen(command) as process:
        try:
            deadline = time.monotonic() + 120
            while not answers():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.5)
            config = json.loads(get("info?run=."))
            content = get("tensor?run=.&name=layer%202")
            lines = get("metadata?run=.&name=layer%202").decode("utf-8").splitlines()
        finally:
            process.terminate()
    tensors = {entry["tensorName"]: entry["tensorShape"] for entry in config["embeddings"]}
    assert tensors == {"layer 1": [3, 16], "layer 2": [3, 16]}
    np.testing.assert_array_equal(np.frombuffer(content, "<f4").reshape(3, 16), bank.vectors[2])
    assert len(lines) == 4 and lines[1] == "bank\t1\tThey sat on the [bank] .\triver"
