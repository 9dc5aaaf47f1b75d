import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import CharCNNEmbedding, characters

FILTERS = [(1, 4), (3, 6), (7, 8)]


def ids_of(words, max_characters=50):
    return tf.constant([[characters.word_to_ids(word, max_characters) for word in words]])


def pair(**kwargs):
    """With its characters cut to the longest token, and without."""
    kwargs = {"filters": FILTERS, "character_dim": 5, "projection_dim": 6, **kwargs}
    layers = CharCNNEmbedding(**kwargs), CharCNNEmbedding(**kwargs, trim_characters=False)
    for layer in layers:
        layer.build()
    for variable in layers[0].weights:
        variable.assign(np.random.normal(scale=0.5, size=variable.shape))
    layers[1].set_weights(layers[0].get_weights())
    return layers


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_cutting_the_characters_changes_nothing(activation):
    short, full = pair(activation=activation)
    for max_characters, longest in itertools.product([7, 50], [0, 3, 7, 48, 100]):
        ids = ids_of(["a" * longest, "", "bc"[:longest], "é"], max_characters)
        ids = tf.concat([ids, tf.zeros_like(ids[:, :1])], 1)
        np.testing.assert_allclose(short(ids), full(ids), atol=1e-6)
        np.testing.assert_allclose(short(ids, groups=2), full(ids), atol=1e-6)
        assert np.abs(full(ids)).max() > 0.1
    # Padding inside a word, zeros inside a token: whatever the ids, cutting is exact.
    ids = np.random.randint(0, 262, (2, 9, 20))
    np.testing.assert_allclose(short(ids), full(ids), atol=1e-6)


def test_other_ranks_and_sizes():
    layer, _ = pair()
    ids = ids_of(["one", "two"])
    np.testing.assert_allclose(layer(ids[0]), layer(ids)[0], atol=1e-6)
    np.testing.assert_allclose(layer(ids[None])[0], layer(ids), atol=1e-6)
    assert layer(ids[:, :0]).shape == (1, 0, 6)
    assert layer(ids[:0]).shape == (0, 2, 6)
    plain = CharCNNEmbedding(FILTERS, num_highway=0)  # without a projection
    assert plain(ids).shape == (1, 2, 18) and plain.output_dim == 18


def test_the_full_length_compiles_with_xla_and_has_the_same_gradients():
    short, full = pair()
    ids = ids_of(["one", "two", "a longer word"])
    results = []
    for layer in (short, full):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(layer(ids)))
        variables = [variable.value for variable in layer.trainable_variables]
        results.append([tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    np.testing.assert_allclose(tf.function(full, jit_compile=True)(ids), short(ids), atol=1e-5)
    assert full.supports_jit and not short.supports_jit


@pytest.mark.parametrize(
    "kwargs, message",
    [
        ({"filters": [(0, 4)]}, "`filters`"),
        ({"activation": "gelu"}, "Received: activation='gelu'"),
        ({"num_highway": -1}, "num_highway=-1"),
        ({"projection_dim": 0}, "projection_dim=0"),
        ({"character_dim": 0}, "character_dim=0"),
        ({"num_words": 3}, "Received: 3, None and 6"),
        ({"word_dim": 3}, "`num_words`, `word_dim` and `projection_dim`"),
        ({"num_words": 3, "word_dim": 2, "projection_dim": None}, "Received: 3, 2 and None"),
        ({"word_padding": 0}, "word_padding=0"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ValueError, match=message):
        CharCNNEmbedding(**{"filters": FILTERS, "projection_dim": 6, **kwargs})


def test_float_ids():
    with pytest.raises(TypeError, match="must be integers.*Received.*float32"):
        CharCNNEmbedding(FILTERS)(tf.ones((2, 3, 50)))
    without_input = keras.Sequential([CharCNNEmbedding(FILTERS), keras.layers.Dense(1)])
    with pytest.raises(TypeError, match=r'keras.Input\(shape=\(None, 50\), dtype="int32"\)'):
        without_input(tf.ones((2, 3, 50), tf.int32))


WITH_WORDS = {"num_words": 4, "word_dim": 3, "projection_dim": 6}
WRONG_WORD = np.ones((2, 20), int)
WRONG_WORD[1, -1] = 5


@pytest.mark.parametrize(
    "kwargs, ids, message",
    [
        ({}, np.array([[[259, 262] + [261] * 48]]), "to 261. Received: ids from 259 to 262"),
        ({}, np.ones((2, 3, 6), int), r"at least 7.*Received: shape \(2, 3, 6\)"),
        ({}, keras.Input((None, None), dtype="int32"), "known number of characters"),
        (WITH_WORDS, WRONG_WORD, "Word ids must be from 0 .* to 4. .*from 1 to 5"),
        (WITH_WORDS, WRONG_WORD[:, :7], "at least 7, .*, and the id of the word after them"),
    ],
    ids=["too large", "too few", "unknown number", "word", "no word"],
)
def test_ids_that_do_not_fit_are_refused(kwargs, ids, message):
    with pytest.raises(ValueError, match=message):
        CharCNNEmbedding(FILTERS, **kwargs)(ids)


def test_another_padding_character():
    layer, full = pair(word_padding=7)
    ids = np.full((2, 20), 7)
    ids[0, :5], ids[1, :3] = [1, 2, 261, 261, 3], [4, 5, 6]
    np.testing.assert_allclose(layer(ids), full(ids), atol=1e-6)
