import argparse
import hashlib
import io
import json
import signal
import threading
import time
import zipfile

import pytest
from checkpoints import write_checkpoint
from sources.file_server import COMMIT, files_in, use_as_hub
from weights.parts import WORDS
from weights.test_hub_module import assert_same, write_module

from keras_elmo import BiLanguageModel, Elmo, TextClassifier
from keras_elmo.process.signals import Interrupted, noting_signals
from keras_elmo.sources import models
from keras_elmo_cli.inputs import load_any_model
from keras_elmo_cli.main import main

FILES = ("options.json", "weights.hdf5")


def zip_of(members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return content.getvalue()


@pytest.fixture(autouse=True)
def model_zip(server, home):
    """The same in a zip, in whose answers the faults are."""
    server.files["model.zip"] = zip_of(server.files)
    server.faulty = "model.zip"


def test_a_zip_is_downloaded_once_and_kept_with_its_checksum(server, home, small_config):
    for make in (Elmo.from_pretrained, lambda url: TextClassifier(url, ["a", "b"]).elmo):
        elmo = make(f"{server.url}/model.zip")
        assert elmo.config == small_config and elmo.source == f"{server.url}/model.zip"
    assert server.requests == ["model.zip"]
    assert files_in(home) == ["model.zip", "model.zip.sha256"]
    (record,) = home.rglob("*.sha256")
    digest = hashlib.sha256(server.files["model.zip"]).hexdigest()
    assert record.read_text() == f"{digest}  model.zip\n"  # as sha256sum writes it


def test_a_pair(server, small_folder, small_config):
    options, weights = (f"{server.url}/{name}" for name in FILES)
    for pair in ((small_folder / "options.json", weights), (options, weights)):
        assert Elmo.from_pretrained(pair).config == small_config
    assert server.requests == ["weights.hdf5", "options.json"]


def test_a_checksum_in_the_address(server, home):
    content = server.files["model.zip"]
    url, digest = f"{server.url}/model.zip", hashlib.sha256(content).hexdigest()
    for _ in range(2):
        Elmo.from_pretrained(f"{url}#sha256={digest.upper()}")
    assert server.requests == ["model.zip"]
    # Another checksum asks for another file; the one that is there stays if it does not come.
    with pytest.raises(OSError, match=f"zip must have the sha256 {'0' * 64}. Received: {digest}"):
        Elmo.from_pretrained(f"{url}#sha256={'0' * 64}")
    Elmo.from_pretrained(url)
    assert server.requests == ["model.zip"] * 2
    for fragment in ("sha256=", "md5=0", digest):
        with pytest.raises(ValueError, match=f"must be sha256= .* Received: {url}#...$"):
            Elmo.from_pretrained(f"{url}#{fragment}")


def test_a_damaged_file_in_the_cache_is_downloaded_again(server, home):
    Elmo.from_pretrained(f"{server.url}/model.zip")
    (path,) = home.rglob("model.zip")
    path.write_bytes(b"damaged")
    server.files["model.zip"] = zip_of({f"new/{n}": server.files[n] for n in FILES})
    Elmo.from_pretrained(f"{server.url}/model.zip")
    assert path.read_bytes() == server.files["model.zip"]
    Elmo.from_pretrained(f"{server.url}/model.zip")
    assert server.requests == ["model.zip"] * 2


PAGE = b"<html>There is no model here</html>"


@pytest.mark.parametrize(
    "fault, content, error, message",
    [
        ("huge", None, OSError, "model.zip: it must have at most 8,016,777,216 bytes"),
        (None, PAGE, ValueError, "http.*model.zip must be a folder, or a whole zip or tar file"),
        (None, zip_of(dict.fromkeys(FILES, b"{}")), ValueError, "options.json cannot be read"),
    ],
)
def test_a_failed_download_leaves_nothing_in_the_cache_and_tells_no_secret(
    server, home, capsys, fault, content, error, message
):
    whole = server.files["model.zip"]
    server.fault, server.files["model.zip"] = fault, content or whole
    url = server.url.replace("//", "//user:s3cret@") + "/model.zip?token=s3cret"
    with pytest.raises(error, match=message) as caught:
        Elmo.from_pretrained(url)
    assert main(["info", url]) == 2
    shown = capsys.readouterr().err
    assert shown.splitlines()[-1].startswith("keras-elmo info: error: http")
    assert "s3cret" not in shown + str(caught.value)
    assert files_in(home) == []
    server.fault, server.files["model.zip"] = None, whole
    elmo = Elmo.from_pretrained(url)
    assert elmo.source == f"{server.url}/model.zip" and "s3cret" not in repr(elmo)


@pytest.mark.parametrize("address", ["https://user:s3cret@host/model.zip#s3cret", "ftp://s3cret@h"])
def test_addresses_that_are_not_right_are_refused_without_their_secrets(address, capsys):
    with pytest.raises(ValueError) as caught:
        Elmo.from_pretrained(address)
    assert main(["info", address]) == 2
    assert "s3cret" not in str(caught.value) + capsys.readouterr().err


@pytest.mark.parametrize(
    "name, content, message, left",
    [
        ("options.json", b"{}", "/options.json cannot be read", []),
        ("options.json", b'{"dictionary": "dictionary.json"}', "as a zip", []),
        ("weights.hdf5", PAGE, "http.*weights.hdf5 must be a whole HDF5 file", FILES[:1]),
    ],
)
def test_a_pair_that_is_no_model(server, home, name, content, message, left):
    server.files[name] = content
    with pytest.raises((OSError, ValueError), match=message):
        Elmo.from_pretrained([f"{server.url}/{file}" for file in FILES])
    assert [file for file in files_in(home) if not file.endswith(".sha256")] == list(left)


# The Hugging Face Hub

API = "api/models/user/model"


@pytest.fixture
def hub(server, tmp_path, small_config, monkeypatch):
    """The server as a hub with the model `user/model`, which has a softmax."""
    BiLanguageModel(small_config, WORDS).save_pretrained(tmp_path / "model")
    serve_as_hub(server, tmp_path / "model", tmp_path, monkeypatch)
    return server


def serve_as_hub(server, folder, tmp_path, monkeypatch):
    use_as_hub(server, monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    files = {"README.md": b"# A model", "pytorch_model.bin": b"not for us"}
    for path in folder.rglob("*"):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    counts = {"private": False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
    siblings = [{"rfilename": name} for name in files]
    info = {"id": "user/model", "sha": COMMIT, "siblings": siblings, **counts}
    tree = [{"type": "file", "path": n, "size": len(c), "oid": n} for n, c in files.items()]
    server.files = {f"user/model/resolve/{COMMIT}/{n}": content for n, content in files.items()}
    for revision in ("main", "v1"):
        server.files[f"{API}/revision/{revision}"] = json.dumps(info).encode()
    server.files[f"{API}/tree/{COMMIT}"] = json.dumps(tree).encode()
    server.headers = {"X-Repo-Commit": COMMIT}


def downloaded(server):
    return {name.rpartition("/")[2] for name in server.requests if "/resolve/" in name}


def test_a_checkpoint_at_an_address_is_unpacked_once(server, tmp_path, small_config, monkeypatch):
    folder, unpacked = write_checkpoint(tmp_path / "c", BiLanguageModel(small_config, WORDS)), []
    server.files["model.zip"] = zip_of({p.name: p.read_bytes() for p in folder.iterdir()})
    unpack = models.unpack
    monkeypatch.setattr(models, "unpack", lambda *x: unpacked.append(x[1]) or unpack(*x))
    assert_same(Elmo.from_pretrained(f"{server.url}/model.zip"), Elmo.from_pretrained(folder))
    assert unpacked == [f"{server.url}/model.zip"]


def test_a_model_of_the_hub(hub, small_config):
    elmo = Elmo.from_pretrained("hf://user/model@v1")
    assert elmo.config == small_config and elmo.source == "hf://user/model@v1"
    assert downloaded(hub) == set(FILES)
    start = len(hub.requests)
    assert load_any_model(argparse.Namespace(model="hf://user/model")).config == small_config
    assert hub.requests[start:].count(f"{API}/revision/main") == 2  # of one question
    bilm = BiLanguageModel.from_pretrained("hf://user/model")
    assert bilm.has_softmax and len(bilm.vocabulary) == 5 and bilm.source == "hf://user/model"
    assert downloaded(hub) == {*FILES, "softmax.hdf5", "vocab.txt"}


def test_a_module_and_a_checkpoint_of_the_hub(server, tmp_path, small_config, monkeypatch):
    model = BiLanguageModel(small_config, WORDS)
    for write in (write_module, write_checkpoint):
        folder = write(tmp_path / write.__name__, model)
        serve_as_hub(server, folder, tmp_path / f"cache-{folder.name}", monkeypatch)
        assert_same(Elmo.from_pretrained("hf://user/model"), Elmo.from_pretrained(folder))


def test_a_signal_ends_a_download_from_the_hub(hub):
    """Its library downloads in threads, which no signal reaches."""
    hub.fault, hub.faulty = "stalled", f"user/model/resolve/{COMMIT}/weights.hdf5"
    main = threading.main_thread().ident

    def interrupt():
        while hub.faulty not in hub.requests:
            time.sleep(0.01)
        time.sleep(0.3)
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    with pytest.raises(Interrupted), noting_signals():
        thread.start()
        Elmo.from_pretrained("hf://user/model")
    thread.join()
    hub.fault = None
    assert Elmo.from_pretrained("hf://user/model").source == "hf://user/model"


@pytest.mark.parametrize("name", ["hf://user/model@v2", "hf://a/b/c"])
def test_what_the_hub_does_not_have(hub, name, capsys):
    assert main(["info", name]) == 2
    assert f"error: {name} cannot be downloaded: " in capsys.readouterr().err
