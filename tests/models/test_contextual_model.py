import re

import keras
import numpy as np
import pytest

from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding


def test_what_a_model_says_of_itself(small_folder, small_config, elmo, tmp_path, capsys):
    text, count = repr(elmo), f"{elmo.count_params():,}"
    assert text.startswith(f"<Elmo {elmo.name} from {str(small_folder)!r}: {count} parameters, ")
    assert "2 LSTM layers in each direction, outputs of 16; WhitespaceTokenizer; " in text
    assert text.endswith("trainable layers: elmo>")
    new = Elmo(small_config, tokenizer=None, name="new")
    assert repr(new).startswith("<Elmo new: ") and "; no tokenizer; " in repr(new)
    new.load_weights(small_folder / "weights.hdf5")
    assert f"from {str(small_folder / 'weights.hdf5')!r}" in repr(new)
    new.trainable = False
    assert repr(new).endswith("trainable layers: none>")
    new.save(tmp_path / "new.keras")
    assert "from 'a file of Keras'" in repr(keras.models.load_model(tmp_path / "new.keras"))
    elmo.summary(line_length=88)
    table = capsys.readouterr().out
    assert "unbuilt" not in table and "?" not in table


def test_a_folder_round_trip(elmo, tmp_path):
    elmo.save_pretrained(tmp_path / "new")
    again = Elmo.from_pretrained(tmp_path / "new")
    assert again.config == elmo.config
    for one, other in zip(again.weights, elmo.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    assert keras.initializers.serialize(again.kernel_initializer)["class_name"] == "GlorotUniform"


@pytest.mark.parametrize("argument", ["config", "kernel_initializer"])
def test_what_the_files_say_is_not_an_argument(small_folder, argument):
    for load in (Elmo.from_pretrained, ElmoEmbedding):
        with pytest.raises(TypeError, match=argument):
            load(small_folder, **{argument: None})


@pytest.mark.parametrize(
    "call, line",
    [
        (lambda: Elmo("tiny"), "'tiny')."),
        (lambda: Elmo("some.zip", num_mixes=2), "'some.zip')."),
        (lambda: Elmo("o.json", "w.hdf5", 2), "('o.json', 'w.hdf5')). Received"),
        (lambda: BiLanguageModel("tiny", ["a"]), "BiLanguageModel.from_pretrained('tiny')."),
    ],
)
def test_calls_as_in_other_packages_show_the_right_line(call, line):
    with pytest.raises(ValueError, match=re.escape(line)):
        call()
