"""What an `Elmo` does with a dictionary and a table of words, as ELMoForManyLangs' models have."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from manylangs_models import SENTENCES, WORDS, architecture, write_model

from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding, strings

SHAPE = architecture({"n_layers": 1})
TEXTS = ["The cat sat .", "今天 ж", "mat", "cat <bos> Straße"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("manylangs")
    write_model(path, SHAPE)
    return path


@pytest.fixture(scope="module")
def elmo(folder):
    return Elmo.from_pretrained(folder)


def assert_same(results, expected):
    for name in expected:
        if name != "tokens":
            np.testing.assert_allclose(results[name], expected[name], atol=1e-6)


def test_character_ids_are_as_good_as_tokens(elmo, untraced):
    expected = elmo(SENTENCES)
    ids = elmo.batch_to_ids(SENTENCES)
    assert ids.shape == (4, 10, 10) and ids.dtype == tf.int32  # 9 characters and the word
    rows = [0, 1, 3]  # sentence 2 holds "<bos>", a sentence boundary, which is refused
    results = elmo.from_character_ids(tf.gather(ids, rows))
    assert_same(results, {name: tf.gather(value, rows) for name, value in expected.items()})
    with pytest.raises(ValueError, match="boundaries"):
        elmo.from_character_ids(ids)
    begin, end = elmo.token_encoder.scheme.boundaries
    whole = tf.constant([[begin, *ids[3].numpy()[:1], end]])
    marked = elmo.from_character_ids(whole, has_boundaries=True)
    np.testing.assert_allclose(marked["elmo"], expected["elmo"][3:, :1], atol=1e-6)
    limits = ("Character", 0, elmo.config.num_characters), ("Word", -1, len(WORDS))
    for name, column, limit in limits:
        wrong = ids.numpy()[:1]
        wrong[0, 0, column] = limit + 1
        with pytest.raises(ValueError, match=f"{name} ids .*{limit}"):
            elmo.from_character_ids(wrong)
    with pytest.raises(ValueError, match="shape"):
        elmo.from_character_ids(ids[..., :-1])


def test_a_saved_folder_loads_again_to_the_bit(elmo, tmp_path):
    elmo.save_pretrained(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert names == {"README.md", "options.json", "dictionary.json", "weights.hdf5"}
    again = Elmo.from_pretrained(tmp_path / "saved")
    assert again.config == elmo.config
    for one, other in zip(again.get_weights(), elmo.get_weights(), strict=True):
        np.testing.assert_array_equal(one, other)
    elmo.save_weights(tmp_path / "weights.hdf5")
    again.set_weights([0 * weight for weight in again.get_weights()])
    again.load_weights(tmp_path / "weights.hdf5")
    np.testing.assert_array_equal(again.get_weights()[1], elmo.get_weights()[1])


@pytest.mark.slow
def test_a_classifier_trains_everything_and_is_saved(folder, tmp_path):
    embedding = ElmoEmbedding(folder, output="default", trainable_part="all")
    layers = [keras.Input(shape=(), dtype="string"), embedding]
    model = keras.Sequential([*layers, keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.05), "binary_crossentropy")
    weights, texts = embedding.elmo.get_weights(), strings(TEXTS)
    losses = model.fit(texts, np.array([1, 0, 1, 0]), epochs=8, verbose=0).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    for before, variable in zip(weights, embedding.elmo.weights, strict=True):
        assert np.any(before != variable.numpy()), variable.path
    table = embedding.elmo.character_encoder.word_embedding.numpy()
    unused = WORDS.index("x\ufffd")  # only the words of the texts have changed
    original = Elmo.from_pretrained(folder).character_encoder.word_embedding.numpy()
    np.testing.assert_array_equal(table[unused], original[unused])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].elmo.config == embedding.elmo.config
    expected = model.predict(texts, verbose=0)
    np.testing.assert_allclose(loaded.predict(texts, verbose=0), expected, atol=1e-6)


def test_a_language_model_begins_with_it(folder):
    vocabulary = ["<S>", "</S>", "<UNK>", "cat"]
    with pytest.warns(UserWarning, match="holds no softmax"):
        model = BiLanguageModel.from_pretrained(folder, vocabulary)
    assert np.any(model.character_encoder.word_embedding.numpy())
    model.initialize(seed=1)
    table = model.character_encoder.word_embedding.numpy()
    assert len(np.unique(table)) == table.size and np.abs(table).max() <= 1
