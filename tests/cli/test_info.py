import json
import re

import pytest

from keras_elmo import ElmoConfig


@pytest.fixture
def info(run):
    """What `info` shows, as a dict."""

    def info(model):
        status, out, err = run("info", model)
        assert (status, err) == (0, "")
        return dict(re.split(r"  +", line, maxsplit=1) for line in out.splitlines())

    return info


def test_the_shape_the_parameters_and_the_size_are_shown(info, small_folder, small_config):
    model = f"{small_folder}/options.json,{small_folder}/weights.hdf5"
    size = (small_folder / "weights.hdf5").stat().st_size
    parameters = small_config.num_parameters()
    expected = {
        "LSTM layers": "2 in each direction",
        "LSTM units": "24",
        "projection": "8",
        "output of a layer": "16",
        "skip connections": "yes",
        "clips": "cell 3.0, projection 3.0",
        "filters (width x count)": "1x4, 2x8, 3x8; relu",
        "highway layers": "1",
        "parameters: all": f"{sum(parameters.values()):,}",
        "weight file": f"{size / 1e6:,.1f} MB",
        **{f"parameters: {part}": f"{count:,}" for part, count in parameters.items()},
    }
    assert expected.items() <= info(model).items()


def test_size_of_a_checkpoint_is_that_of_its_files(info, shared):
    folder = shared / "fixtures/bilm-checkpoint/checkpoint"
    rows = info(folder)
    size = sum(file.stat().st_size for file in folder.glob("model.ckpt-300.*"))
    assert "weight file" not in rows and rows["checkpoint"] == f"{size / 1e6:,.1f} MB"


def test_model_without_a_projection_says_so(info, tmp_path):
    config = ElmoConfig(units=8, projection_dim=8, use_skip_connections=False, cell_clip=None)
    (tmp_path / "options.json").write_text(json.dumps(config.to_options()))
    (tmp_path / "weights.hdf5").write_bytes(b"")
    rows = info(tmp_path)
    shown = [rows[name] for name in ("projection", "skip connections", "clips")]
    assert shown == ["8 (no projection)", "no", "cell None, projection 3.0"]
