import concurrent.futures
import hashlib
import os
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from files import datasets
from weights.file_server import Server

import keras_elmo
from keras_elmo import BiLanguageModel, Elmo
from keras_elmo.weights import presets
from keras_elmo.weights.download import RemoteFile
from keras_elmo.weights.presets import PRESETS, Preset, cache_folder, fetch


@pytest.fixture
def server(small_folder):
    server = Server()
    for name in ("options.json", "weights.hdf5"):
        server.files[name] = (small_folder / name).read_bytes()
    yield server
    server.close()


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def preset(server, home, monkeypatch):
    """A published model "local", on the server, whose sizes and checksums are known."""

    def remote(name, **kwargs):
        content = server.files[name]
        digest = hashlib.sha256(content).hexdigest()
        return RemoteFile(name, f"{server.url}/{name}", len(content), sha256=digest, **kwargs)

    preset = Preset(remote("options.json"), remote("weights.hdf5"))
    monkeypatch.setattr(presets, "PRESETS", {"local": preset})
    return preset


def files_in(home):
    return sorted(path.name for path in home.rglob("*") if path.is_file() and path.name != ".lock")


def test_model_is_downloaded_once(server, home):
    first = fetch("local")
    assert server.requests == ["options.json", "weights.hdf5"]
    assert [os.path.basename(path) for path in first] == ["options.json", "weights.hdf5"]
    assert files_in(home) == ["options.json", "weights.hdf5"]
    for path in first:
        assert os.path.dirname(path) == str(home / "keras_elmo" / "local")
        with open(path, "rb") as file:
            assert file.read() == server.files[os.path.basename(path)]
    assert fetch("local") == first
    assert server.requests == ["options.json", "weights.hdf5"]


def test_name_makes_a_model(small_folder, small_config):
    assert Elmo.from_pretrained("local").config == small_config


def test_home_may_begin_with_a_tilde(server, home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("KERAS_HOME", "~/models")
    assert cache_folder("local") == str(home / "models" / "keras_elmo" / "local")
    assert all(path.startswith(str(home / "models")) for path in fetch("local"))
    monkeypatch.delenv("KERAS_HOME")
    assert cache_folder("local") == str(home / ".keras" / "keras_elmo" / "local")


@pytest.mark.parametrize("fault", ["404", "closed"])
def test_failed_download_says_how_to_do_it_by_hand(server, home, preset, fault):
    server.fault, message = fault, "weights.hdf5: HTTP status 404"
    if fault == "closed":
        server.close()
        message = "(?i)options.json.*refused"
    with pytest.raises(OSError, match=message) as caught:
        fetch("local")
    text = str(caught.value)
    assert "The model 'local' cannot be downloaded" in text
    assert preset.options.url in text and preset.weights.url in text
    assert f"put them into {home / 'keras_elmo' / 'local'} as options.json and weights.hdf5" in text
    assert set(files_in(home)) <= {"options.json"}
    if fault == "404":
        server.fault = None
        fetch("local")
        assert server.requests == ["options.json", "weights.hdf5", "weights.hdf5"]


def test_files_put_there_by_hand_are_used(server, home):
    folder = home / "keras_elmo" / "local"
    folder.mkdir(parents=True)
    for name in ("options.json", "weights.hdf5"):
        (folder / name).write_bytes(server.files[name])
    fetch("local")
    assert server.requests == []


def test_threads_that_ask_for_the_same_model_share_a_download(server):
    server.fault = "slow"
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(fetch, ["local"] * 4))
    assert len(set(results)) == 1
    assert server.requests == ["options.json", "weights.hdf5"]
    with open(results[0][1], "rb") as file:
        assert file.read() == server.files["weights.hdf5"]


ASK = """
import sys
from keras_elmo.weights import presets
from keras_elmo.weights.download import RemoteFile
from keras_elmo.weights.presets import Preset
presets.PRESETS["local"] = eval(sys.argv[1])
input("ready")
presets.fetch("local")
"""


def test_processes_that_ask_for_the_same_model_at_once_both_get_it(server, preset, home):
    server.fault = "slow"
    root = os.path.dirname(os.path.dirname(keras_elmo.__file__))
    path = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-c", ASK, repr(preset)], env={**os.environ, "PYTHONPATH": path}, **pipes
    ) as process:
        assert process.stdout.read(5) == b"ready"
        process.stdin.write(b"\n")
        process.stdin.flush()
        _, weights = fetch("local")
    assert process.returncode == 0
    assert server.requests.count("weights.hdf5") == 1
    assert files_in(home / "keras_elmo") == ["options.json", "weights.hdf5"]
    with open(weights, "rb") as file:
        assert file.read() == server.files["weights.hdf5"]


def test_published_models_have_https_addresses_of_their_own():
    assert {"small", "medium", "original", "original_5.5B", "pubmed"} <= PRESETS.keys()
    presets = PRESETS.values()
    urls = [file.url for p in presets for file in (p.options, p.weights, *p.softmax)]
    assert len(set(urls)) == len(urls)
    softmax, vocabulary = PRESETS["original"].softmax
    assert re.fullmatch(r"https://\S+_2xhighway_softmax_weights\.hdf5", softmax.url)
    assert re.fullmatch(r"https://\S+/vocab-2016-09-10\.txt", vocabulary.url)
    assert softmax.min_size == 4 * 793_471 * 512 and vocabulary.max_size > 8e6
    assert re.fullmatch("[0-9a-f]{64}", PRESETS["small"].weights.sha256)
    for preset in presets:
        assert re.fullmatch(r"https://\S+options\.json", preset.options.url)
        assert re.fullmatch(r"https://\S+\.hdf5", preset.weights.url)
        assert preset.weights.min_size >= 4 * 13_593_296
        assert preset.weights.size is None or preset.weights.size >= preset.weights.min_size


def test_only_a_language_model_downloads_the_softmax(server, home, small_config, monkeypatch):
    model = BiLanguageModel(small_config, ["</S>", "<S>", "<UNK>", "cat", "the"])
    model.save_pretrained(home / "saved")
    for name in ("options.json", "weights.hdf5", "softmax.hdf5", "vocab.txt"):
        server.files[name] = (home / "saved" / name).read_bytes()
    options, weights, *softmax = (RemoteFile(n, f"{server.url}/{n}") for n in server.files)
    preset = Preset(options, weights, tuple(softmax))
    monkeypatch.setattr(presets, "PRESETS", {"local": preset})
    Elmo.from_pretrained("local")
    with pytest.warns(UserWarning, match="has a softmax for its own vocabulary, and another was"):
        assert not BiLanguageModel.from_pretrained("local", ["</S>", "<S>", "<UNK>"]).has_softmax
    assert server.requests == ["options.json", "weights.hdf5"]
    server.files["softmax.hdf5"], whole = b"", server.files["softmax.hdf5"]
    with pytest.raises(OSError, match="as options.json, weights.hdf5, softmax.hdf5 and vocab.txt"):
        BiLanguageModel.from_pretrained("local")
    server.files["softmax.hdf5"] = whole
    loaded = BiLanguageModel.from_pretrained("local")
    assert loaded.has_softmax and loaded.source == "local"
    assert loaded.vocabulary == model.vocabulary
    for found, expected in zip(loaded.softmax.variables, model.softmax.variables, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_packaged_model_needs_no_download(home, untraced):
    (name,) = presets.PACKAGED
    options, weights = fetch(name)
    assert files_in(home) == []
    # The limit for the size of the wheel.
    assert os.path.getsize(options) + os.path.getsize(weights) < 12e6
    with h5py.File(weights) as file:
        assert file["CNN_proj/W_proj"].dtype == "float32"
        assert all(file[name].fletcher32 for name in datasets(weights))
    elmo = Elmo.from_pretrained(name)
    assert elmo.bilm.variables[0].dtype == "float32"
    assert elmo(["the cat"])["elmo"].shape == (1, 2, elmo.config.output_dim)
    assert presets.names() == [name, *presets.PRESETS]
