"""Taggers: each natural way to fit one trains, and Keras's figures are those of the real tokens."""

import functools

import keras
import numpy as np
import pytest

from keras_elmo import ElmoEmbedding, strings

pytestmark = pytest.mark.usefixtures("untraced_module")

TEXTS = ["The dog barks .", "No", "An old oak", "It let out a bark", "Two words"]
SENTENCES = [text.split() for text in TEXTS]
TAGS = [[1, 2, 0, 1], [2], [0, 1, 2], [1, 0, 1, 1, 0], [2, 0]]
WIDTH = 8  # of padded tokens and tags: more than the longest sentence has


def padded(rows, padding):
    return np.array([[*row, *[padding] * (WIDTH - len(row))] for row in rows])


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


PADDED, TOKENS = strings(padded(SENTENCES, "")), strings(SENTENCES)
FORMS = {  # the input's shape, whether it is ragged, arguments of `Elmo`, inputs
    "padded": ((None,), False, {"tokenizer": None}, PADDED),
    "joined": ((), False, {"max_tokens": WIDTH}, strings(TEXTS)),
    "ragged": ((None,), True, {"max_tokens": WIDTH}, TOKENS),
    # Without `max_tokens`, the outputs of each batch are as wide as its longest sentence.
    "ragged for dense": ((None,), False, {"tokenizer": None, "max_tokens": WIDTH}, TOKENS),
}
# A graph takes seconds to trace.
GRAPHS = [pytest.param(form, False, marks=pytest.mark.slow) for form in FORMS]


@pytest.mark.parametrize(
    "form, run_eagerly", [("padded", True), ("joined", True), ("ragged", True), *GRAPHS]
)
def test_figures_are_those_of_the_real_tokens(tagger, expected, form, run_eagerly):
    shape, ragged, kwargs, x = FORMS[form]
    model, tags = tagger(shape, ragged, run_eagerly, **kwargs), padded(TAGS, 0)
    if "max_tokens" in kwargs:
        assert model.output_shape == (None, WIDTH, 3)
    before = model.get_weights()
    for size, batches in [(len(TAGS), [range(len(TAGS))]), (2, [[0, 1], [2, 3], [4]])]:
        found = model.evaluate(x, tags, batch_size=size, verbose=0)
        np.testing.assert_allclose(found, expected(batches), atol=1e-5)
    assert np.isfinite(model.fit(x, tags, batch_size=2, verbose=0).history["loss"][0])
    assert any(np.any(a != b) for a, b in zip(before, model.get_weights(), strict=True))
    model.set_weights(before)


def test_inputs_of_another_form_are_refused(tagger, one_layer_folder):
    # Keras refuses them before any layer, and shows the two shapes.
    with pytest.raises(ValueError, match=r"Expected shape \(None,\).*shape \(5, None\)"):
        tagger((), False, True, max_tokens=WIDTH)(TOKENS)
    inputs = keras.Input((), dtype="string")
    with pytest.raises(ValueError, match=r"keras.Input\(shape=\(None,\)"):
        ElmoEmbedding(one_layer_folder, tokenizer=None)(inputs)
    with pytest.raises(ValueError, match="tokenizer=None"):
        tagger((None,), True, True, max_tokens=WIDTH)(PADDED)
