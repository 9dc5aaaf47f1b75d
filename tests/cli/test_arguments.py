import os
import shutil
import zipfile

import pytest

from keras_elmo.cli.arguments import (
    check_layers,
    check_output,
    check_overwrite,
    is_same_file,
    layer_numbers,
    model_source,
    open_model_argument,
)


@pytest.mark.parametrize(
    "typed, layer", [("all", "all"), ("lstm_outputs2", "lstm_outputs2"), ("2", 2), ("-3", -3)]
)
def test_layers_as_they_are_typed(small_config, typed, layer):
    assert check_layers(typed, small_config) == layer


@pytest.mark.parametrize("typed", ["", "3", "-4", "1.5", "lstm_outputs3", "top,elmo"])
def test_what_names_no_layer(small_config, typed):
    with pytest.raises(ValueError, match="from -3 to 2"):
        check_layers(typed, small_config)


def test_numbers_of_layers(small_config):
    assert layer_numbers(None, small_config) == [1, 2]
    assert layer_numbers("-1, 0,2", small_config) == [2, 0]
    for typed in ("3", "top", "0,", "0,elmo"):
        with pytest.raises(ValueError, match="`layers` must be"):
            layer_numbers(typed, small_config)


def test_a_comma_parts_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert model_source("small") == "small"
    assert model_source("a.json,b.hdf5") == ("a.json", "b.hdf5")
    (tmp_path / "a,b").mkdir()
    assert model_source("a,b") == "a,b"


def test_folder_is_opened(small_folder, small_config):
    with open_model_argument(str(small_folder)) as (config, weights):
        assert config == small_config
        assert weights == str(small_folder / "weights.hdf5")


def test_folder_with_allennlps_names_is_opened(small_folder, small_config, tmp_path):
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(small_folder / name, tmp_path / f"elmo_2x24_8_{name}")
    with open_model_argument(str(tmp_path)) as (config, weights):
        assert config == small_config
        assert weights == str(tmp_path / "elmo_2x24_8_weights.hdf5")


def test_pair_is_opened(small_folder, small_config):
    files = f"{small_folder}/options.json", f"{small_folder}/weights.hdf5"
    with open_model_argument(",".join(files)) as (config, weights):
        assert (config, weights) == (small_config, files[1])


def test_zip_is_opened(small_folder, small_config, tmp_path):
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for file in small_folder.iterdir():
            archive.write(file, file.name)
    with open_model_argument(str(tmp_path / "model.zip")) as (config, weights):
        assert config == small_config
        assert weights.read() == (small_folder / "weights.hdf5").read_bytes()


def test_missing_weights_are_named(small_folder):
    with pytest.raises(FileNotFoundError, match="There is no weight file nothing.hdf5"):
        with open_model_argument(f"{small_folder}/options.json,nothing.hdf5"):
            pass


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


def test_existing_file_is_replaced_only_when_told(folder):
    check_overwrite("old.npz", overwrite=True)
    check_overwrite("new.npz", overwrite=False)
    with pytest.raises(FileExistsError, match="old.npz exists already; .* or another --output"):
        check_overwrite("old.npz", overwrite=False)
    with pytest.raises(FileExistsError, match="or another name"):
        check_overwrite("old.npz", False, "name")


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
    with pytest.raises(ValueError, match=f"the weights. Received: --output {output}"):
        check_output(output, model, overwrite=True)


def test_output_elsewhere_is_taken(folder):
    check_output("new.npz", "model", overwrite=False)
    check_output("model/new.npz", "model/options.json,model/weights.hdf5", overwrite=False)
    check_output("new.npz", "small", overwrite=False)
    with pytest.raises(FileExistsError, match="old.npz exists already"):
        check_output("old.npz", "model", overwrite=False)
