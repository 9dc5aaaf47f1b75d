"""Taggers: each natural way to fit one trains, and Keras's figures are those of the real tokens."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import ElmoEmbedding, strings

pytestmark = pytest.mark.usefixtures("untraced_module")

TEXTS = ["The dog barks .", "No", "An old oak", "It let out a bark", "Two words"]
SENTENCES = [text.split() for text in TEXTS]
TAGS = [[1, 2, 0, 1], [2], [0, 1, 2], [1, 0, 1, 1, 0], [2, 0]]
WIDTH = 8  # of padded tokens and tags: more than the longest sentence has


def padded(rows, padding, width=WIDTH):
    return np.array([[*row, *[padding] * (width - len(row))] for row in rows])


@pytest.fixture(scope="module")
def tagger(one_layer_folder):
    """A function of the input's shape and arguments of `Elmo`: a compiled tagger, always the same.

    A model takes seconds to trace, so it is made once for the same arguments, and `run_eagerly` is
    the argument of `compile`.
    """

    @functools.cache
    def make(shape, ragged, run_eagerly, **kwargs):
        keras.utils.set_random_seed(0)
        layers = [keras.Input(shape=shape, dtype="string", ragged=ragged)]
        layers += [ElmoEmbedding(one_layer_folder, **kwargs)]
        layers += [keras.layers.SimpleRNN(4, return_sequences=True)]
        model = keras.Sequential([*layers, keras.layers.Dense(3, activation="softmax")])
        loss = "sparse_categorical_crossentropy"
        model.compile("sgd", loss, metrics=["accuracy"], run_eagerly=run_eagerly)
        return model

    return make


@pytest.fixture(scope="module")
def expected(tagger):
    """Loss and accuracy over the real tokens, in plain NumPy, of each sentence tagged alone.

    Of the untrained tagger: every one of `tagger` has the same weights at first.
    """
    model = tagger((), False, True, max_tokens=WIDTH)
    alone = [model(strings([text]))[0].numpy() for text in TEXTS]

    def figures(batches):
        losses, right, weights = [], [], []
        for rows in batches:
            p = np.concatenate([alone[row][: len(TAGS[row])] for row in rows])
            tags = np.concatenate([TAGS[row] for row in rows])
            losses.append(-np.mean(np.log(p[np.arange(len(tags)), tags])))
            right += (p.argmax(-1) == tags).tolist()
            weights.append(len(rows))
        # Keras's loss of an epoch is the mean of its batches' losses, by their sentences.
        return np.average(losses, weights=weights), np.mean(right)

    return figures


BATCHES = [[0, 1], [2, 3], [4]]


def check(model, expected, x, y=None, has_fixed_width=True):
    """Keras's figures, of one batch and of several, and an epoch of training."""
    before = model.get_weights()
    if y is None:  # batches of two sentences already
        whole = x.unbatch().ragged_batch(len(TAGS)).map(dense)
        results = [model.evaluate(data, verbose=0) for data in (whole, x)]
    else:
        results = [model.evaluate(x, y, batch_size=size, verbose=0) for size in (len(TAGS), 2)]
    for result, batches in zip(results, [[range(len(TAGS))], BATCHES], strict=True):
        loss, accuracy = expected(batches)
        assert result[0] == pytest.approx(loss, abs=1e-5)
        # Keras's metrics weigh the tokens of a batch by 1 / width.
        if has_fixed_width or len(batches) == 1:
            assert result[1] == pytest.approx(accuracy, abs=1e-6)
    history = model.fit(x, y, batch_size=None if y is None else 2, verbose=0).history
    assert np.isfinite(history["loss"][0])
    assert any(np.any(a != b) for a, b in zip(before, model.get_weights(), strict=True))
    model.set_weights(before)


def dense(*tensors):
    return tuple(t.to_tensor() if isinstance(t, tf.RaggedTensor) else t for t in tensors)


def batches(x):
    """A tf.data.Dataset whose batches are padded, each to its own longest sentence."""
    return tf.data.Dataset.from_tensor_slices((x, tf.ragged.constant(TAGS))).batch(2).map(dense)


JOINED = strings(TEXTS)
PADDED = strings(padded(SENTENCES, ""))
TOKENS = strings(SENTENCES)
PADDED_TAGS = padded(TAGS, 0)
FORMS = {  # the input's shape, whether it is ragged, arguments of `Elmo`, inputs and tags
    "padded": ((None,), False, {"tokenizer": None}, PADDED, PADDED_TAGS),
    "padded per batch": ((None,), False, {"tokenizer": None}, batches(TOKENS), None),
    "joined": ((), False, {"max_tokens": WIDTH}, JOINED, PADDED_TAGS),
    "ragged": ((None,), True, {"max_tokens": WIDTH}, TOKENS, PADDED_TAGS),
    # Without `max_tokens`, the outputs of each batch are as wide as its longest sentence.
    "ragged for a dense input": (
        *((None,), False, {"tokenizer": None, "max_tokens": WIDTH}, TOKENS, PADDED_TAGS),
    ),
}
# A graph takes seconds to trace.
GRAPHS = [pytest.param(form, False, marks=pytest.mark.slow) for form in FORMS]


@pytest.mark.parametrize(
    "form, run_eagerly", [("padded", True), ("joined", True), ("ragged", True), *GRAPHS]
)
def test_figures_are_those_of_the_real_tokens(tagger, expected, form, run_eagerly):
    shape, ragged, kwargs, x, y = FORMS[form]
    model = tagger(shape, ragged, run_eagerly, **kwargs)
    if "max_tokens" in kwargs:
        assert model.output_shape == (None, WIDTH, 3)
    check(model, expected, x, y, has_fixed_width=y is not None)


def test_a_long_sentence_is_cut_with_its_tags(tagger):
    model = tagger((), False, True, max_tokens=3)
    tags = padded([row[:3] for row in TAGS], 0, width=3)
    loss = model.evaluate(JOINED, tags, verbose=0)[0]
    short = strings([" ".join(words[:3]) for words in SENTENCES])
    assert model.evaluate(short, tags, verbose=0)[0] == pytest.approx(loss, abs=1e-6)


def test_inputs_of_another_form_are_refused(tagger, one_layer_folder):
    # Keras refuses them before any layer, and shows the two shapes.
    with pytest.raises(ValueError, match=r"Expected shape \(None,\).*shape \(5, None\)"):
        tagger((), False, True)(TOKENS)
    inputs = keras.Input((), dtype="string")
    with pytest.raises(ValueError, match=r"keras.Input\(shape=\(None,\)"):
        ElmoEmbedding(one_layer_folder, tokenizer=None)(inputs)
    with pytest.raises(ValueError, match="tokenizer=None"):
        tagger((None,), True, True, max_tokens=WIDTH)(PADDED)


def test_a_fixed_width_suits_layers_that_need_one(one_layer_folder):
    inputs = keras.Input((), dtype="string")
    vectors = ElmoEmbedding(one_layer_folder, max_tokens=WIDTH)(inputs)
    # If the width is unknown, Keras 3.14.0 to 3.15.1 loops over the batch instead of the tokens.
    dense = keras.layers.Dense(3)
    outputs = [dense(vectors), keras.layers.TimeDistributed(dense)(vectors)]
    outputs.append(keras.layers.Conv1D(8, 5)(vectors))
    plain, distributed, convolved = keras.Model(inputs, outputs)(JOINED[:2])
    assert plain.shape == (2, WIDTH, 3) and convolved.shape == (2, WIDTH - 4, 8)
    np.testing.assert_allclose(distributed, plain, atol=1e-6)
