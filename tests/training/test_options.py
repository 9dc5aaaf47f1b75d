import json

import pytest

from keras_elmo.config import ElmoConfig
from keras_elmo.training import read_options

CONFIG = ElmoConfig(8, 4, num_layers=1, character_dim=4, filters=[(1, 4)], num_highway=1)


def write(path, **own):
    path.write_text(json.dumps(CONFIG.to_options() | own))
    return path


def test_the_settings_of_a_file_of_the_original(tmp_path):
    own = {"batch_size": 128, "unroll_steps": 20, "dropout": 0.1, "all_clip_norm_val": 10.0}
    own |= {"n_negative_samples_batch": 8192, "n_epochs": 3, "n_tokens_vocab": 793471}
    path = write(tmp_path / "options.json", **own, n_train_tokens=7, sample_softmax=True)
    config, known, num_words = read_options(path)
    assert (config, num_words) == (CONFIG, 793471)
    assert known == {
        "batch_size": 128, "unroll_steps": 20, "dropout": 0.1, "clip_norm": 10.0,
        "num_negatives": 8192, "epochs": 3,
    }  # fmt: skip
    _, known, num_words = read_options(write(path, sample_softmax=False))
    assert (known, num_words) == ({"num_negatives": 0}, None)


@pytest.mark.parametrize(
    "name, value",
    [("batch_size", 0), ("unroll_steps", 2.5), ("dropout", 1), ("learning_rate", 0),
     ("all_clip_norm_val", -1), ("n_epochs", 0)],
)  # fmt: skip
def test_a_setting_out_of_range_is_refused(tmp_path, name, value):
    own = {"all_clip_norm_val": "clip_norm", "n_epochs": "epochs"}.get(name, name)
    with pytest.raises(ValueError, match=own):
        read_options(write(tmp_path / "options.json", **{name: value}))
