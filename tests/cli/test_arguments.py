import contextlib
import os
import shutil
import zipfile

import pytest
from weights.file_server import Server

from keras_elmo.cli.arguments import (
    _layer_numbers,
    check_output,
    check_overwrite,
    is_same_file,
    model_source,
    open_model_argument,
)


def test_numbers_of_layers(small_config):
    assert _layer_numbers(None, small_config) == [1, 2]
    assert _layer_numbers("-1, 0,2", small_config) == [2, 0]
    for typed in ("3", "top", "0,", "0,elmo"):
        with pytest.raises(ValueError, match="layers"):
            _layer_numbers(typed, small_config)


@pytest.mark.parametrize("form", ["folder", "allennlp", "pair", "zip", "address"])
def test_every_form_of_a_model_is_opened(small_folder, small_config, tmp_path, monkeypatch, form):
    monkeypatch.chdir(tmp_path)
    content = (small_folder / "weights.hdf5").read_bytes()
    source = form
    if form == "folder":
        shutil.copytree(small_folder, form)
    elif form == "allennlp":
        os.mkdir(form)
        for name in ("options.json", "weights.hdf5"):
            shutil.copy(small_folder / name, f"{form}/elmo_2x24_8_{name}")
    elif form == "pair":
        source = f"{small_folder}/options.json,{small_folder}/weights.hdf5"
    else:
        with zipfile.ZipFile("zip", "w") as archive:
            for file in small_folder.iterdir():
                archive.write(file, file.name)
    with contextlib.ExitStack() as stack:
        if form == "address":
            monkeypatch.setenv("KERAS_HOME", str(tmp_path / "home"))
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            server = stack.enter_context(contextlib.closing(Server()))
            server.files["m,1.zip"] = (tmp_path / "zip").read_bytes()
            source = f"{server.url}/m,1.zip"
        config, weights = stack.enter_context(open_model_argument(source))
        assert config == small_config
        found = weights.read() if form in ("zip", "address") else open(weights, "rb").read()
        assert found == content


def test_a_comma_parts_two_files(folder):
    os.mkdir("a,b")
    url = "https://host/"
    typed = ("small", "a.json,b.hdf5", "a,b", f"{url}a,b.zip", f"{url}o.json,{url}w.hdf5")
    assert [model_source(name) for name in typed] == [
        "small",
        ("a.json", "b.hdf5"),
        "a,b",
        f"{url}a,b.zip",
        (f"{url}o.json", f"{url}w.hdf5"),
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a model, a link to it, and an older output."""
    (tmp_path / "model").mkdir()
    for name in ("old.npz", "model/options.json", "model/weights.hdf5"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("model")
    monkeypatch.chdir(tmp_path)


def test_paths_of_one_file(folder):
    os.link("old.npz", "hard.npz")
    assert is_same_file("old.npz", os.path.abspath("old.npz"))
    assert is_same_file("old.npz", "hard.npz")
    assert is_same_file("link", "model")
    assert not is_same_file("old.npz", "model")
    assert not is_same_file("new.npz", "new.npz")  # there is no such file


@pytest.mark.parametrize(
    "output, model",
    [
        ("model/new.npz", "model"),
        ("model/weights.hdf5", "link"),
        ("link/new.npz", "model"),
        ("model/weights.hdf5", "model/options.json,model/weights.hdf5"),
    ],
)
def test_output_must_not_lie_in_the_models_folder(folder, output, model):
    with pytest.raises(ValueError, match=f"--output {output}"):
        check_output(output, model, overwrite=True)


def test_output_elsewhere_is_taken_and_replaced_only_when_told(folder):
    check_output("new.npz", "model", overwrite=False)
    check_output("model/new.npz", "model/options.json,model/weights.hdf5", overwrite=False)
    check_output("new.npz", "small", overwrite=False)
    check_output("old.npz", "model", overwrite=True)
    with pytest.raises(FileExistsError, match="name another file"):
        check_output("old.npz", "model", overwrite=False)
    with pytest.raises(FileNotFoundError, match="no must be an existing folder. Received: no/a"):
        check_overwrite("no/a", True)
