import json
import re
import warnings

import keras
import pytest

from keras_elmo import BiLanguageModel, Elmo


def parts_of(elmo):
    """The variables of each part, by their identities."""
    mix = {id(v) for layer in elmo.mixes for v in layer.weights}
    bilm = mix | {id(v) for v in elmo.bilm.weights}
    return {"mix": mix, "bilm": bilm, "all": bilm | {id(v) for v in elmo.character_encoder.weights}}


@pytest.mark.parametrize("part", ["mix", "bilm", "all"])
def test_what_trains(small_folder, part):
    elmo = Elmo.from_pretrained(small_folder, trainable_part=part)
    chosen = parts_of(elmo)[part]
    assert elmo.trainable is True and elmo.trainable_part == part
    assert {id(v) for v in elmo.trainable_variables} == chosen
    elmo.trainable = False
    assert elmo.trainable is False and elmo.trainable_variables == []
    elmo.trainable_part = "all"  # still frozen
    assert elmo.trainable_variables == []
    elmo.trainable_part = part
    elmo.trainable = True  # the part that was chosen, not everything
    assert elmo.trainable is True and {id(v) for v in elmo.trainable_variables} == chosen
    with pytest.raises(ValueError, match=f'pass trainable_part="{part}"'):
        elmo.trainable = part
    frozen = Elmo.from_pretrained(small_folder, trainable=False, trainable_part=part)
    assert frozen.trainable_variables == [] and frozen.trainable_part == part


WEIGHTS = "x_2048cnn_1xhighway/elmo_2x1024_128_2048cnn_1xhighway_weights.hdf5"


@pytest.mark.parametrize(
    "call, line",
    [
        (lambda: Elmo("tiny"), "'tiny')."),
        (lambda: Elmo("some.zip", num_mixes=2), "'some.zip', num_mixes=2)."),
        (lambda: Elmo("o.json", "w.hdf5", 2), "('o.json', 'w.hdf5'), num_mixes=2). Received"),
        (lambda: Elmo("o.json", "w.hdf5", 1, dropout=0), "'w.hdf5')). `dropout` is an argument of"),
        (lambda: Elmo("https://a/o.json", f"https://a/{WEIGHTS}", 2), "'small', num_mixes=2)."),
        (lambda: BiLanguageModel("tiny", ["a"]), "BiLanguageModel.from_pretrained('tiny')."),
    ],
)
def test_calls_as_in_other_packages_show_the_right_line(call, line):
    with pytest.raises(ValueError, match=re.escape(line)):
        call()


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
