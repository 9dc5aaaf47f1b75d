import re

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo, ElmoEmbedding, strings

pytestmark = pytest.mark.usefixtures("untraced_module")

TEXTS = ["a good film", "a bad film", "good", "bad , bad film .", "bad", "so good"]
LABELS = np.array([1, 0, 1, 0, 0, 1])


def classifier(embedding, encoder=None):
    encoder = encoder or keras.layers.Bidirectional(keras.layers.LSTM(4))
    layers = [keras.Input(shape=(), dtype="string"), embedding, encoder]
    model = keras.Sequential([*layers, keras.layers.Dense(1, activation="sigmoid")])
    model.compile("adam", "binary_crossentropy", run_eagerly=True)
    return model


def test_a_classifier_is_saved_and_loads(one_layer_folder, tmp_path):
    """test_keras_forms.py loads such files in a fresh process."""
    embedding = ElmoEmbedding(one_layer_folder, dropout=0.1, trainable_part="bilm")
    model = classifier(embedding, keras.layers.GlobalAveragePooling1D())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras", compile=False)
    texts, layer = strings(TEXTS), loaded.layers[0]
    np.testing.assert_allclose(loaded(texts), model(texts), atol=1e-6)
    assert layer.trainable is True and layer.trainable_part == "bilm" and layer.dropout.rate == 0.1


def test_the_mask_reaches_the_next_layer(one_layer_folder):
    model = classifier(ElmoEmbedding(one_layer_folder))
    alone = model(strings(["bad"]))
    together = model(strings(["bad", "a longer text than that"]))
    np.testing.assert_allclose(alone[0], together[0], atol=1e-6)
    # Keras's LSTM fails on a batch without a column, and a batch of empty texts has one.
    assert np.all(np.isfinite(tf.function(model)(strings([""]))))


NAMES = ["elmo", "default", "word_emb", "lstm_outputs1", "average", "sum", "top", 0, -1, "all"]


@pytest.mark.parametrize("output", ["elmo", "default", NAMES, (np.int64(2),)], ids=str)
def test_outputs_are_those_of_embed(elmo, output):
    layer = ElmoEmbedding(elmo, output=output)
    names, several = ([output], False) if output in NAMES else (list(output), True)
    outputs, symbolic = layer(TEXTS), layer(keras.Input((), dtype="string"))
    assert isinstance(outputs, list) == isinstance(symbolic, list) == several
    expected, mask = elmo.embed(TEXTS, names), elmo(TEXTS)["mask"]
    for name, values, symbol in zip(
        names, keras.tree.flatten(outputs), keras.tree.flatten(symbolic), strict=True
    ):
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


def test_one_elmo_in_two_layers_is_trained_once(elmo):
    inputs = keras.Input((), dtype="string")
    layers = [ElmoEmbedding(elmo, output=name) for name in ("default", "default")]
    outputs = keras.layers.Concatenate()([layer(inputs) for layer in layers])
    model = keras.Model(inputs, keras.layers.Dense(1)(outputs))
    assert len(model.trainable_variables) == 2 + 2


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        rows = slice(2 * index, 2 * index + 2)
        return strings(TEXTS[rows]), LABELS[rows]


@pytest.fixture(scope="module")
def pooled(one_layer_folder):
    return classifier(ElmoEmbedding(one_layer_folder, output="default"), keras.layers.Identity())


def test_keras_blames_the_texts_if_the_labels_are_a_list(pooled):
    """As docs/text.md and the docstrings say."""
    labels, texts = LABELS.tolist(), strings(TEXTS)
    for data in ({"y": labels}, {"y": tuple(labels)}, {"y": LABELS, "sample_weight": labels}):
        with pytest.raises(ValueError, match="Unrecognized data type: x=.*a good film"):
            pooled.fit(texts, verbose=0, **data)
    with pytest.raises(ValueError, match="Invalid dtype: str"):
        pooled.evaluate(texts, LABELS.astype(str), verbose=0)


def test_fit_takes_datasets_of_both_kinds(pooled):
    model = pooled
    whole = model.evaluate(strings(TEXTS), LABELS, verbose=0)
    for data in (Batches(), tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(2)):
        np.testing.assert_allclose(model.evaluate(data, verbose=0), whole, atol=1e-5)
        weights = model.get_weights()
        assert np.isfinite(model.fit(data, verbose=0).history["loss"][0])
        model.set_weights(weights)


def summary_counts(model):
    lines = []
    model.summary(print_fn=lines.append)
    text = "\n".join(lines).replace(",", "")
    return tuple(map(int, re.findall(r"rainable params: (\d+)", text)))


@pytest.mark.parametrize(
    "part, kind", [("mix", "sequential"), ("bilm", "functional"), ("all", "sequential")]
)
def test_freezing_as_keras_does(one_layer_folder, part, kind, tmp_path):
    layer = ElmoEmbedding(one_layer_folder, output="default", trainable_part=part)
    elmo, dense, inputs = layer.elmo, keras.layers.Dense(1), keras.Input((), dtype="string")
    if kind == "sequential":
        model = keras.Sequential([inputs, layer, dense])
    else:
        model = keras.Model(inputs, dense(layer(inputs)))
    counts = [x.count_params() for x in (elmo.mixes[0], elmo.bilm, elmo.character_encoder)]
    trained = sum(counts[: ["mix", "bilm", "all"].index(part) + 1])
    released = trained + 17, sum(counts) - trained
    assert summary_counts(model) == released
    model.trainable = False
    assert layer.trainable is elmo.trainable is False and model.trainable_variables == []
    assert summary_counts(model) == (0, sum(released))
    model.trainable = True
    assert layer.trainable is True and layer.trainable_part == elmo.trainable_part == part
    assert summary_counts(model) == released
    layer.trainable = False
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for loaded in (model, again):
        assert summary_counts(loaded) == (17, sum(released) - 17)
    again.layers[-2].trainable = True
    assert again.layers[-2].trainable_part == part and summary_counts(again) == released


def test_another_part_later(new_elmo):
    new_elmo.trainable = False
    layer = ElmoEmbedding(new_elmo)
    assert layer.trainable is False  # as the Elmo has it
    layer.trainable_part = "all"
    layer.trainable = True
    assert new_elmo.trainable_part == "all"
    assert len(layer.trainable_variables) == len(new_elmo.variables)


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        ({"output": "mask"}, ValueError, "`output` must .*from -3 to 2.*Received: output='mask'"),
        ({"output": ["top", 3]}, ValueError, r"Received: output=\['top', 3\]"),
        ({"output": []}, ValueError, "`output`"),
        ({"dropout": "0.5"}, ValueError, "`dropout`"),
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
