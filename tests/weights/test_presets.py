import hashlib
import http.server
import os
import re
import threading

import h5py
import pytest

from keras_elmo import Elmo
from keras_elmo.weights import presets
from keras_elmo.weights.presets import PRESETS, Preset, RemoteFile, cache_folder, fetch


class Server:
    """An HTTP server on this machine: its files, what is wrong with it, and who asked for what."""

    def __init__(self):
        self.files, self.requests, self.fault = {}, [], None
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                name = self.path.strip("/")
                server.requests.append(name)
                fault = server.fault if name == "weights.hdf5" else None
                if fault == "404":
                    self.send_error(404)
                    return
                content = server.files[name]
                if fault == "other bytes":
                    content = bytes(len(content))
                elif fault == "short":
                    content = content[:-1]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if fault == "cut" else content)

            def log_message(self, *args):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self):
        if self.thread.is_alive():
            self.http.shutdown()
            self.http.server_close()
            self.thread.join()


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
    return sorted(path.name for path in home.rglob("*") if path.is_file())


def test_model_is_downloaded_once(server, home):
    first = fetch("local")
    assert server.requests == ["options.json", "weights.hdf5"]
    assert [os.path.basename(path) for path in first] == ["options.json", "weights.hdf5"]
    assert files_in(home) == ["options.json", "weights.hdf5"]
    assert fetch("local") == first
    assert server.requests == ["options.json", "weights.hdf5"]


def test_files_are_those_of_the_server_and_below_keras_home(server, home):
    for path in fetch("local"):
        assert os.path.dirname(path) == str(home / "keras_elmo" / "local")
        with open(path, "rb") as file:
            assert file.read() == server.files[os.path.basename(path)]


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


def assert_failure(message, preset, home):
    """A failed download names its reason, both addresses and the folder, and leaves no part."""
    with pytest.raises(OSError, match=message) as caught:
        fetch("local")
    text = str(caught.value)
    assert "The model 'local' cannot be had" in text
    for file in preset:
        assert file.url in text
    assert f"put them into {home / 'keras_elmo' / 'local'} as options.json and weights.hdf5" in text
    assert set(files_in(home)) <= {"options.json"}


@pytest.mark.parametrize(
    "fault, message",
    [
        ("cut", "weights.hdf5.*retrieval incomplete"),
        ("short", r"weights.hdf5 must have [\d,]+ bytes. Received: [\d,]+"),
        ("other bytes", r"weights.hdf5 must have the sha256 [0-9a-f]{64}. Received: [0-9a-f]{64}"),
        ("404", "weights.hdf5: 404"),
    ],
)
def test_failed_download_leaves_nothing_and_the_next_works(server, home, preset, fault, message):
    server.fault = fault
    assert_failure(message, preset, home)
    server.fault = None
    options, weights = fetch("local")
    assert files_in(home) == ["options.json", "weights.hdf5"]
    assert server.requests == ["options.json", "weights.hdf5", "weights.hdf5"]


def test_refused_connection_names_the_address(server, home, preset):
    server.close()
    assert_failure("(?i)options.json.*refused", preset, home)


def test_short_file_of_unknown_size_is_refused(server, home, preset, monkeypatch):
    least = len(server.files["weights.hdf5"]) + 1
    weights = preset.weights._replace(size=None, sha256=None, least_size=least)
    preset = preset._replace(weights=weights)
    monkeypatch.setattr(presets, "PRESETS", {"local": preset})
    assert_failure(f"must have at least {least:,} bytes. Received: {least - 1:,}", preset, home)


@pytest.mark.parametrize("content", [b"", b"cut", None], ids=["empty", "cut", "other bytes"])
def test_bad_file_in_the_cache_is_downloaded_again(server, content):
    options, weights = fetch("local")
    whole = server.files["weights.hdf5"]
    with open(weights, "wb") as file:
        file.write(bytes(len(whole)) if content is None else content)
    fetch("local")
    assert server.requests == ["options.json", "weights.hdf5", "weights.hdf5"]
    with open(weights, "rb") as file:
        assert file.read() == whole


def test_old_file_stays_where_a_new_download_fails(server, preset, monkeypatch):
    _, weights = fetch("local")
    server.fault = "404"
    larger = preset._replace(weights=preset.weights._replace(size=10**6))
    monkeypatch.setattr(presets, "PRESETS", {"local": larger})
    with pytest.raises(OSError, match="404"):
        fetch("local")
    with open(weights, "rb") as file:
        assert file.read() == server.files["weights.hdf5"]


def test_files_put_there_by_hand_are_used(server, home, small_folder):
    folder = home / "keras_elmo" / "local"
    folder.mkdir(parents=True)
    for name in ("options.json", "weights.hdf5"):
        (folder / name).write_bytes(server.files[name])
    Elmo.from_pretrained("local")
    assert server.requests == []


def test_interrupted_download_leaves_nothing(home, monkeypatch):
    import keras

    def interrupted(name, url, cache_dir, cache_subdir, **kwargs):
        with open(os.path.join(cache_dir, cache_subdir, name), "wb") as file:
            file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(keras.utils, "get_file", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetch("local")
    assert files_in(home) == []


def test_published_models_have_https_addresses_of_their_own():
    assert {"small", "medium", "original", "original_5.5B", "pubmed"} <= PRESETS.keys()
    urls = [file.url for preset in PRESETS.values() for file in preset]
    assert len(set(urls)) == len(urls)
    for preset in PRESETS.values():
        assert re.fullmatch(r"https://\S+options\.json", preset.options.url)
        assert re.fullmatch(r"https://\S+\.hdf5", preset.weights.url)
        assert preset.weights.least_size >= 4 * 13_593_296
        assert preset.weights.size is None or preset.weights.size >= preset.weights.least_size


def test_options_that_are_a_page_of_a_portal_are_not_kept(server, preset, home, monkeypatch):
    unsized = preset._replace(options=RemoteFile("options.json", preset.options.url))
    monkeypatch.setattr(presets, "PRESETS", {"local": unsized})
    good = server.files["options.json"]
    server.files["options.json"] = b"<html>Please log in</html>"
    assert_failure("options.json must be a JSON file", preset, home)
    assert files_in(home) == []
    server.files["options.json"] = good
    assert len(fetch("local")) == 2


def test_the_packaged_model_needs_no_download(home):
    (name,) = presets.PACKAGED
    options, weights = fetch(name)
    assert files_in(home) == []
    # What the wheel may grow by.
    assert os.path.getsize(options) + os.path.getsize(weights) < 12e6
    with h5py.File(weights) as file:
        assert file["CNN_proj/W_proj"].dtype == "float32"
    elmo = Elmo.from_pretrained(name)
    assert elmo.bilm.variables[0].dtype == "float32"
    assert elmo(["the cat"])["elmo"].shape == (1, 2, elmo.config.output_dim)
    assert presets.names() == [name, *presets.PRESETS]
