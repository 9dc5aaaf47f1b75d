import json
import warnings

import keras
import pytest

from keras_elmo import (
    BiLanguageModel,
    Elmo,
)

WEIGHTS = "x_2048cnn_1xhighway/elmo_2x1024_128_2048cnn_1xhighway_weights.hdf5"


@pytest.mark.parametrize(
    "call, line",
    [
        (lambda: Elmo("tiny"), "Elmo.from_pretrained('tiny')."),
        (lambda: Elmo("some.zip", num_mixes=2), "Elmo.from_pretrained('some.zip', num_mixes=2)."),
        (
            lambda: Elmo("o.json", "w.hdf5", 2),
            "Elmo.from_pretrained(('o.json', 'w.hdf5'), num_mixes=2). Received",
        ),
        (
            lambda: Elmo("o.json", "w.hdf5", 1, dropout=0),
            "Elmo.from_pretrained(('o.json', 'w.hdf5')). `dropout` is an argument of ElmoEmbedding",
        ),
        (
            lambda: Elmo("https://host/o.json", f"https://host/{WEIGHTS}", 2, dropout=0),
            "Elmo.from_pretrained('small', num_mixes=2).",
        ),
        (lambda: BiLanguageModel("tiny", ["a"]), "BiLanguageModel.from_pretrained('tiny')."),
    ],
)
def test_calls_as_in_other_packages_show_the_right_line(call, line):
    with pytest.raises(ValueError) as info:
        call()
    assert line in str(info.value)


def test_a_model_of_options_alone_warns(small_folder, small_config, elmo, tmp_path):
    options = small_folder / "options.json"
    with pytest.raises(ValueError, match="Elmo.from_pretrained"):
        Elmo(small_folder)
    with pytest.warns(UserWarning, match="has random weights.*from_pretrained") as warned:
        Elmo(options)
    assert warned[0].filename == __file__
    elmo.save(tmp_path / "elmo.keras")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*random weights")
        Elmo(small_config)
        Elmo(json.loads(options.read_text()))
        Elmo.from_pretrained((options, small_folder / "weights.hdf5"))
        BiLanguageModel(options, ["<S>", "</S>", "<UNK>"])
        keras.models.load_model(tmp_path / "elmo.keras")
