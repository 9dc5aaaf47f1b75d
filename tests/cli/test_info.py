import re
import zipfile

from keras_elmo import ElmoConfig
from keras_elmo.cli.main import main


def short_repr(capsys, model):
    """What `info` shows, as a dict."""
    assert main(["info", str(model)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines())


def test_options_are_shown(capsys, small_folder):
    rows = short_repr(capsys, small_folder)
    assert rows["LSTM layers"] == "2 in each direction"
    assert rows["LSTM units"] == "24"
    assert rows["projection"] == "8"
    assert rows["output of a layer"] == "16"
    assert rows["skip connections"] == "yes"
    assert rows["clips"] == "cell 3.0, projection 3.0"
    assert rows["filters (width x count)"] == "1x4, 2x8, 3x8; relu"
    assert rows["highway layers"] == "1"


def test_parameters_are_shown_part_by_part(capsys, small_folder, small_config):
    rows = short_repr(capsys, small_folder)
    parameters = small_config.num_parameters()
    for part, count in parameters.items():
        assert rows[f"parameters: {part}"] == f"{count:,}"
    assert rows["parameters: all"] == f"{sum(parameters.values()):,}"


def test_size_of_the_file_is_shown(capsys, small_folder):
    size = (small_folder / "weights.hdf5").stat().st_size
    assert short_repr(capsys, small_folder)["weight file"] == f"{size / 1e6:,.1f} MB"


def test_size_of_a_checkpoint_is_that_of_its_files(capsys, shared):
    folder = shared / "fixtures/bilm-checkpoint/checkpoint"
    rows = short_repr(capsys, folder)
    size = sum(file.stat().st_size for file in folder.glob("model.ckpt-300.*"))
    assert "weight file" not in rows and rows["checkpoint"] == f"{size / 1e6:,.1f} MB"


def test_pair_of_files(capsys, small_folder):
    pair = f"{small_folder}/options.json,{small_folder}/weights.hdf5"
    assert short_repr(capsys, pair) == short_repr(capsys, small_folder)


def test_zip_shows_the_same_as_its_folder(capsys, tmp_path, small_folder):
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for file in small_folder.iterdir():
            archive.write(file, file.name)
    assert short_repr(capsys, tmp_path / "model.zip") == short_repr(capsys, small_folder)


def test_model_without_a_projection_says_so(capsys, tmp_path):
    import json

    config = ElmoConfig(units=8, projection_dim=8, use_skip_connections=False, cell_clip=None)
    (tmp_path / "options.json").write_text(json.dumps(config.to_options()))
    (tmp_path / "weights.hdf5").write_bytes(b"")
    rows = short_repr(capsys, tmp_path)
    assert rows["projection"] == "8 (no projection)"
    assert rows["skip connections"] == "no"
    assert rows["clips"] == "cell None, projection 3.0"


def test_faults_of_the_options_are_one_line(capsys, tmp_path):
    (tmp_path / "options.json").write_text('{"lstm": {"colour": 1}}')
    (tmp_path / "weights.hdf5").write_bytes(b"")
    assert main(["info", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    for fault in ("unknown keys: lstm.colour", "`lstm.dim` is missing", "without `char_cnn`"):
        assert fault in line
