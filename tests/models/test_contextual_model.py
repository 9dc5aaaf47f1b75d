import re

import keras
import numpy as np
import pytest

from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding, strings


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


def test_calls_follow_the_weights(one_layer_folder, tmp_path):
    new_elmo = Elmo.from_pretrained(one_layer_folder)
    other = Elmo(new_elmo.config)
    other.save_pretrained(tmp_path)
    model, twin = (
        keras.Sequential([keras.Input((), dtype="string"), ElmoEmbedding(elmo, "default")])
        for elmo in (new_elmo, other)
    )
    twin.save_weights(tmp_path / "twin.weights.h5")
    texts, weights = strings(["The dog", "The"]), new_elmo.get_weights()

    def results():
        vectors = new_elmo(texts)["default"], new_elmo.predict(texts, verbose=0)["default"]
        return *vectors, model.predict(texts, verbose=0)

    for change in [
        lambda: new_elmo.load_weights(tmp_path / "weights.hdf5"),
        lambda: new_elmo.set_weights(other.get_weights()),
        lambda: model.load_weights(tmp_path / "twin.weights.h5"),
    ]:
        new_elmo.set_weights(weights)
        before = results()
        change()
        for one, old in zip(results(), before, strict=True):
            np.testing.assert_allclose(one, other(texts)["default"], atol=1e-6)
            assert np.abs(one - old).max() > 1e-3


def test_keras_weight_files(new_elmo, untraced, tmp_path):
    new_elmo.mixes[0].gamma.assign(3.0)
    expected = new_elmo(["The dog", "One"])["elmo"]
    new_elmo.save_weights(tmp_path / "all.weights.h5")
    clone = Elmo(new_elmo.config)
    clone.load_weights(tmp_path / "all.weights.h5")
    np.testing.assert_allclose(clone(["The dog", "One"])["elmo"], expected, atol=1e-6)


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
