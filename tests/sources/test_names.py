import hashlib
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time

import filelock
import h5py
import numpy as np
import pytest
from checkpoints import write_checkpoint
from files import datasets
from scripts import ROOT
from sources.file_server import files_in

from keras_elmo import BiLanguageModel, Elmo, Tagger
from keras_elmo.sources import find
from keras_elmo.sources import names as registry
from keras_elmo.sources.download import RemoteFile
from keras_elmo.sources.names import PRESETS, Preset, all_names, cache_folder, fetch, find_name


@pytest.fixture(autouse=True)
def preset(server, home, monkeypatch):
    """A published model "local", on the server, whose sizes and checksums are known."""

    def remote(name):
        content = server.files[name]
        digest = hashlib.sha256(content).hexdigest()
        return RemoteFile(name, f"{server.url}/{name}", len(content), len(content), digest)

    preset = Preset(remote("options.json"), remote("weights.hdf5"))
    monkeypatch.setattr(registry, "PRESETS", {"local": preset})
    return preset


def test_home_may_begin_with_a_tilde(server, home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("KERAS_HOME", "~/models")
    assert cache_folder("local") == str(home / "models" / "keras_elmo" / "local")
    assert fetch("local") == cache_folder("local")
    monkeypatch.delenv("KERAS_HOME")
    assert cache_folder("local") == str(home / ".keras" / "keras_elmo" / "local")


def test_failed_download_says_how_to_do_it_by_hand(server, home, preset):
    server.fault = "404"
    with pytest.raises(OSError, match="weights.hdf5: HTTP status 404") as caught:
        fetch("local")
    text = str(caught.value)
    assert "The model 'local' cannot be downloaded" in text
    assert preset.options.url in text and preset.weights.url in text
    folder = home / "keras_elmo" / "local"
    assert f"put them into {folder} as options.json, weights.hdf5" in text
    assert files_in(home) == ["options.json"]
    (folder / "weights.hdf5").write_bytes(server.files["weights.hdf5"])
    fetch("local")
    assert server.requests == ["options.json", "weights.hdf5"]


def test_a_download_waits_for_another_one(server, home, small_folder):
    folder = home / "keras_elmo" / "local"
    folder.mkdir(parents=True)
    is_locked = threading.Event()

    def download():
        with filelock.FileLock(folder / ".lock"):
            is_locked.set()
            time.sleep(0.3)
            for name in ("options.json", "weights.hdf5"):
                shutil.copy(small_folder / name, folder)

    threading.Thread(target=download).start()
    is_locked.wait()
    fetch("local")
    assert server.requests == [] and files_in(home) == ["options.json", "weights.hdf5"]
    assert (folder / "weights.hdf5").read_bytes() == server.files["weights.hdf5"]


def test_published_models_have_https_addresses_of_their_own():
    presets = PRESETS.values()
    files = [file for p in presets for file in (p.options, p.weights, *p.checkpoint[:3])]
    assert len({file.url for file in files}) == len(files)
    assert all(file.url.startswith("https://") for file in files)
    assert all(4 * 13_593_296 <= p.weights.min_size <= p.weights.max_size < 1e9 for p in presets)
    data = PRESETS["original"].checkpoint[2]
    assert data.url.endswith("_tf_checkpoint/model.ckpt-935588.data-00000-of-00001")
    assert data.min_size == 4 * (93_600_848 + 793_471 * 513)


def test_only_a_language_model_downloads_the_checkpoint(
    server, home, small_config, preset, monkeypatch
):
    words = ["</S>", "<S>", "<UNK>", "cat", "the"]
    model = BiLanguageModel(small_config, words)
    folder = write_checkpoint(home / "c", model)
    (folder / "checkpoint").unlink()  # it is not published with each
    vocabulary = "\n".join(words).encode("utf-8")
    (folder / "vocab.txt").write_bytes(vocabulary)
    names = sorted(os.listdir(folder))
    server.files |= {f"c/{name}": (folder / name).read_bytes() for name in names}
    files = tuple(RemoteFile(name, f"{server.url}/c/{name}", 1, 10**6) for name in names)
    monkeypatch.setattr(registry, "PRESETS", {"local": preset._replace(checkpoint=files)})
    Elmo.from_pretrained("local")
    with pytest.warns(UserWarning, match="holds no softmax .* for this vocabulary"):
        assert not BiLanguageModel.from_pretrained("local", ["</S>", "<S>", "<UNK>"]).has_softmax
    assert server.requests == ["options.json", "weights.hdf5"]
    server.files["c/vocab.txt"] = b""
    with pytest.raises(OSError, match="as model.ckpt-7.data.*, vocab.txt"):
        BiLanguageModel.from_pretrained("local")
    server.files["c/vocab.txt"] = vocabulary
    loaded = BiLanguageModel.from_pretrained("local")
    assert loaded.has_softmax and loaded.source == "local"
    assert loaded.vocabulary == model.vocabulary
    assert all(map(np.array_equal, loaded.get_weights(), model.get_weights()))


@pytest.fixture
def biomedical(tmp_path, monkeypatch):
    """What an installation of keras-elmo-biomedical puts on the path. Returns its entry points."""
    path = tmp_path / "keras_elmo_biomedical-1.dist-info/entry_points.txt"
    path.parent.mkdir()
    (path.parent / "METADATA").write_text("Name: keras-elmo-biomedical\n")
    path.write_text("[keras_elmo.models]\nbiomedical = keras_elmo_biomedical\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "saved_models/biomedical")
    return path


@pytest.mark.parametrize("name", ["tiny", "biomedical"])
def test_a_model_in_a_package_needs_no_download(name, home, biomedical):
    folder = pathlib.Path(find_name(name))
    weights = folder / "weights.hdf5"
    assert files_in(home) == []
    # The limit for the size of the wheel.
    assert (folder / "options.json").stat().st_size + weights.stat().st_size < 12e6
    with h5py.File(weights) as file:
        assert file["CNN_proj/W_proj"].dtype == "float32"
        assert all(file[name].fletcher32 for name in datasets(weights))


def test_a_task_names_the_package_of_its_model(biomedical, tmp_path):
    tagger = Tagger("biomedical", ["O", "B-Disease"], word_dim=0)
    tagger.save_pretrained(tmp_path / "tagger")
    assert (tmp_path / "tagger/head.weights.h5").is_file()
    loaded = Tagger.from_pretrained(tmp_path / "tagger")
    found, expected = (x.predict(["Cystic fibrosis"], verbose=0) for x in (loaded, tagger))
    np.testing.assert_array_equal(found, expected)
    card = (tmp_path / "tagger/README.md").read_text()
    assert "| ELMo: loaded from | biomedical (`pip install keras-elmo-biomedical`) |" in card
    biomedical.unlink()
    match = "'biomedical', which is not installed: pip install keras-elmo-biomedical$"
    with pytest.raises(ValueError, match=match):
        Tagger.from_pretrained(tmp_path / "tagger")


def test_packages_of_others(biomedical, tmp_path, monkeypatch):
    """None is imported; none takes a name of ours; a broken one counts only if it is asked for."""

    def install(name, points):
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {name}\n")
        (info / "entry_points.txt").write_text(points)

    for folder in ("bad", "bad/deep", "bad/deep/er"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("raise SystemExit")
    points = "[keras_elmo.models]\ntiny = bad\nlocal = bad\nlost = gone.away\nloud = bad.deep.er\n"
    install("bad", points + "two = bad\n[keras_elmo.tasks]\ntagger = bad.deep\npos = bad\n")
    install("worse", "[keras_elmo.models]\ntwo = bad\n")
    names = all_names()
    assert set(names) == {"tiny", "local", "biomedical", "lost", "loud", "two"}
    assert len(set(names)) == len(names) and set(all_names(registry.GROUPS[1])) == {"pos", "tagger"}
    assert Elmo.from_pretrained("tiny").source == "tiny"
    assert find_name("local") == cache_folder("local")
    assert find_name("loud") == str(tmp_path / "bad/deep/er")
    assert find_name("tagger") == str(tmp_path / "bad/deep")
    (tmp_path / "bad/deep/task.json").write_text("{}")
    assert find("tagger").is_task and not find("loud").is_task
    for name, message in [
        ("two", "Only one installed package may have a model 'two'.* Received: bad, worse"),
        ("lost", "The package bad must have a folder .* Received: no folder gone.away"),
    ]:
        with pytest.raises(ValueError, match=message):
            Elmo.from_pretrained(name)


@pytest.mark.slow
def test_the_package_of_biomedical_is_installed_with_its_files(tmp_path):
    source = shutil.copytree(ROOT / "saved_models/biomedical", tmp_path / "source")
    command = [sys.executable, "-m", "pip", "install", "--no-deps", source, "--target"]
    subprocess.run([*command, tmp_path / "site"], check=True, timeout=600)
    (installed,) = importlib.metadata.distributions(path=[str(tmp_path / "site")])
    (entry,) = installed.entry_points
    assert (entry.group, entry.name) == ("keras_elmo.models", "biomedical")
    names = {str(path.name) for path in installed.files if path.parts[0] == entry.value}
    assert names >= {"__init__.py", "options.json", "weights.hdf5"}
