import json
import shutil
import zipfile

import pytest

from keras_elmo.cli.model_argument import model_source, open_model


def test_a_comma_parts_two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert model_source("small") == "small"
    assert model_source("a.json,b.hdf5") == ("a.json", "b.hdf5")
    (tmp_path / "a,b").mkdir()
    assert model_source("a,b") == "a,b"


def test_folder_is_opened(small_folder, small_config):
    with open_model(str(small_folder)) as (config, weights, source):
        assert config == small_config
        assert weights == str(small_folder / "weights.hdf5")
        assert source == str(small_folder)


def test_folder_with_allennlps_names_is_opened(small_folder, small_config, tmp_path):
    for name in ("options.json", "weights.hdf5"):
        shutil.copy(small_folder / name, tmp_path / f"elmo_2x24_8_{name}")
    with open_model(str(tmp_path)) as (config, weights, source):
        assert config == small_config and source == str(tmp_path)
        assert weights == str(tmp_path / "elmo_2x24_8_weights.hdf5")


def test_pair_is_opened(small_folder, small_config):
    files = f"{small_folder}/options.json", f"{small_folder}/weights.hdf5"
    with open_model(",".join(files)) as (config, weights, source):
        assert (config, weights, source) == (small_config, files[1], files)


def test_zip_is_read_once(small_folder, small_config, tmp_path):
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for file in small_folder.iterdir():
            archive.write(file, file.name)
    with open_model(str(tmp_path / "model.zip")) as (config, weights, source):
        assert config == small_config
        assert weights.read() == (small_folder / "weights.hdf5").read_bytes()
        assert source == (json.loads((small_folder / "options.json").read_text()), weights)


def test_missing_weights_are_named(small_folder):
    with pytest.raises(FileNotFoundError, match="There is no weight file nothing.hdf5"):
        with open_model(f"{small_folder}/options.json,nothing.hdf5"):
            pass
