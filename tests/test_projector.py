import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from keras_elmo.occurrences import find_occurrences
from keras_elmo.projector import write_projector

SENTENCES = ["They sat on the bank .", "The\u2028bank\x07 lent 猫 bank money ."]


@pytest.fixture
def bank(elmo):
    return find_occurrences(elmo, SENTENCES, ["bank", "bank\x07"])


@pytest.mark.parametrize("tsv", [False, True])
def test_files(bank, tmp_path, tsv):
    write_projector(bank, tmp_path / "a", layers=[0, 2], labels=["river", "a\tb", ""], tsv=tsv)
    suffix = "tsv" if tsv else "bytes"
    names = ["layer_0." + suffix, "layer_2." + suffix, "metadata.tsv", "projector_config.pbtxt"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == names
    for layer in (0, 2):
        path = tmp_path / "a" / f"layer_{layer}.{suffix}"
        found = np.loadtxt(path) if tsv else np.fromfile(path, "<f4").reshape(3, 16)
        np.testing.assert_array_equal(found.astype(np.float32), bank.vectors[layer])
    lines = (tmp_path / "a/metadata.tsv").read_text(encoding="utf-8").split("\n")
    cells = [line.split("\t") for line in lines[:-1]]
    assert lines[-1] == "" and cells[0] == ["token", "line", "context", "label"]
    assert cells[1] == ["bank", "1", "They sat on the [bank] .", "river"]
    assert [row[3] for row in cells[1:]] == ["river", "a b", " "]
    assert all(len(row) == 4 for row in cells)


def test_only_such_folders_are_replaced(bank, tmp_path):
    write_projector(bank, tmp_path / "a")
    with pytest.raises(FileExistsError, match="exists already"):
        write_projector(bank, tmp_path / "a")
    write_projector(bank, tmp_path / "a", layers=[1], overwrite=True)
    assert not (tmp_path / "a/layer_0.bytes").exists()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="it holds other files"):
        write_projector(bank, tmp_path / "b", overwrite=True)
    (tmp_path / "c").write_text("")
    with pytest.raises(FileExistsError, match="is a file"):
        write_projector(bank, tmp_path / "c", overwrite=True)
    with pytest.raises(ValueError, match="1 labels for 3 occurrences"):
        write_projector(bank, tmp_path / "d", labels=["x"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


@pytest.mark.slow
def test_tensorboard_shows_them(bank, tmp_path):
    """Asks a running TensorBoard what its page asks."""
    labels = ["river", "money", "money"]
    write_projector(bank, tmp_path / "run", layers=[1, 2], labels=labels)
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(tmp_path / "run")]
    command += ["--host", "127.0.0.1", "--port", str(port), "--load_fast=false"]
    address = f"http://127.0.0.1:{port}/data/plugin/projector/"
    with open(tmp_path / "log", "w") as log, subprocess.Popen(command, stdout=log, stderr=log) as p:
        try:

            def get(path):
                with urllib.request.urlopen(address + path, timeout=20) as response:
                    return response.read()

            for _ in range(240):
                try:
                    runs = json.loads(get("runs"))
                    break
                except urllib.error.URLError:
                    assert p.poll() is None, (tmp_path / "log").read_text()
                    time.sleep(0.5)
            assert runs == ["."]
            config = json.loads(get("info?run=."))
            tensors = {entry["tensorName"]: entry["tensorShape"] for entry in config["embeddings"]}
            assert tensors == {"layer 1": [3, 16], "layer 2": [3, 16]}
            content = get("tensor?run=.&name=layer%202")
            np.testing.assert_array_equal(
                np.frombuffer(content, "<f4").reshape(3, 16), bank.vectors[2]
            )
            metadata = get("metadata?run=.&name=layer%202").decode("utf-8").splitlines()
            assert metadata[0] == "token\tline\tcontext\tlabel" and len(metadata) == 4
            assert metadata[1] == "bank\t1\tThey sat on the [bank] .\triver"
        finally:
            p.terminate()
