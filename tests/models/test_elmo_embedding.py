import keras
import numpy as np
import pytest

from keras_elmo import Elmo, ElmoEmbedding

pytestmark = pytest.mark.usefixtures("untraced_module")

TEXTS = ["a good film", "a bad film", "good", "bad , bad film .", "bad", "so good"]


NAMES = ["elmo", "default", "word_emb", "lstm_outputs1", "average", "sum", "top", 0, -1, "all"]


@pytest.mark.parametrize("output", ["elmo", "default", NAMES, (np.int64(2),)], ids=str)
def test_outputs_are_those_of_embed(elmo, output):
    layer = ElmoEmbedding(elmo, output=output)
    names, several = ([output], False) if output in NAMES else (list(output), True)
    outputs, symbolic = layer(TEXTS), layer(keras.Input((), dtype="string"))
    assert isinstance(outputs, list) == isinstance(symbolic, list) == several
    expected, mask = elmo.embed(TEXTS, names), elmo(TEXTS)["mask"]
    flat = map(keras.tree.flatten, (outputs, symbolic))
    for name, values, symbol in zip(names, *flat, strict=True):
        for row, vectors in zip(values.numpy(), expected, strict=True):
            if name != "default":
                count = vectors[name].shape[-2]
                assert not np.any(row[..., count:, :])
                row = row[..., :count, :]
            np.testing.assert_allclose(row, vectors[name], atol=1e-6)
        assert symbol.shape[-1] == values.shape[-1] and len(symbol.shape) == len(values.shape)
        if name in ("default", "all"):
            assert not hasattr(values, "_keras_mask") and not hasattr(symbol, "_keras_mask")
        else:
            np.testing.assert_array_equal(values._keras_mask, mask)
            assert symbol._keras_mask.shape == (None, None)
    again = ElmoEmbedding.from_config(layer.get_config())
    assert again.output_name == layer.output_name == (names if several else output)


def test_dropout_only_in_training(elmo):
    layer = ElmoEmbedding(elmo, ["elmo", "top"], dropout=0.5)
    np.testing.assert_allclose(layer(TEXTS)[0], elmo(TEXTS)["elmo"], atol=1e-6)
    real = elmo(TEXTS)["mask"].numpy()
    for output in layer(TEXTS, training=True):
        assert 0.3 < np.mean(output.numpy()[real] == 0) < 0.7


@pytest.mark.parametrize("part", ["mix", "bilm", "all"])
def test_freezing_as_keras_does(one_layer_folder, part, tmp_path):
    layer = ElmoEmbedding(one_layer_folder, output="default", trainable_part=part)
    inputs = keras.Input((), dtype="string")
    model = keras.Model(inputs, keras.layers.Dense(1)(layer(inputs)))
    count = len(layer.elmo.trainable_variables)
    assert len(layer.trainable_variables) == count > 0
    model.trainable = False
    assert layer.trainable is layer.elmo.trainable is False and model.trainable_variables == []
    model.trainable = True
    assert layer.trainable is True and layer.trainable_part == layer.elmo.trainable_part == part
    assert len(model.trainable_variables) == count + 2
    layer.trainable = False
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for loaded in (model, again):
        assert len(loaded.trainable_variables) == 2
    layer = again.layers[1]
    layer.trainable = True
    assert layer.trainable_part == part and len(layer.trainable_variables) == count
    layer.trainable_part = "all"
    assert layer.elmo.trainable_part == "all"
    assert len(layer.trainable_variables) == len(layer.elmo.variables)


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        ({"output": "mask"}, ValueError, "`output` must .*from -3 to 2.*Received: output='mask'"),
        ({"dropout": 1.0}, ValueError, "`dropout`"),
        ({"trainable": "all"}, ValueError, 'trainable_part="all"'),
        ({"trainable_part": "some"}, ValueError, "trainable_part='some'"),
        ({"tokenizer": "treebank"}, ValueError, "tokenizer"),
        ({"elmo": "no-such-model"}, ValueError, "no-such-model"),
        ({"elmo": 3}, TypeError, "3"),
    ],
)
def test_bad_arguments(elmo, kwargs, error, message):
    with pytest.raises(error, match=message):
        ElmoEmbedding(**{"elmo": elmo, **kwargs})


def test_arguments_of_elmo(small_folder):
    layer = ElmoEmbedding(small_folder, tokenizer="treebank", num_mixes=2, output="elmo_2")
    assert isinstance(layer.elmo, Elmo) and layer.elmo.num_mixes == 2
    assert layer(["don't"]).shape[1] == 2
