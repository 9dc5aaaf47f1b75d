"""Taggers: each natural way to fit one trains, and Keras's figures are those of the real tokens."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import Elmo, ElmoEmbedding, strings

SENTENCES = [
    ["The", "dog", "barks", "."],
    ["No"],
    ["An", "old", "oak"],
    ["It", "let", "out", "a", "bark"],
    ["Two", "words"],
]
TAGS = [[1, 2, 0, 1], [2], [0, 1, 2], [1, 0, 1, 1, 0], [2, 0]]
WIDTH = 8  # of padded tokens and tags: more than the longest sentence has
LONGEST = 5


def padded(rows, padding, width=WIDTH):
    return np.array([[*row, *[padding] * (width - len(row))] for row in rows])


@pytest.fixture(scope="module")
def tagger(one_layer_folder):
    """A function of the input's shape and arguments of `Elmo`: a compiled tagger, always the same.

    A model takes seconds to trace, so it is made once for the same arguments.
    """
    made = {}

    def make(shape, ragged=False, **kwargs):
        key = (shape, ragged, *sorted(kwargs.items()))
        if key not in made:
            keras.utils.set_random_seed(0)
            model = keras.Sequential(
                [
                    keras.Input(shape=shape, dtype="string", ragged=ragged),
                    ElmoEmbedding(one_layer_folder, **kwargs),
                    keras.layers.SimpleRNN(4, return_sequences=True),
                    keras.layers.Dense(3, activation="softmax"),
                ]
            )
            model.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"])
            made[key] = model
        return made[key]

    return make


@pytest.fixture(scope="module")
def expected(tagger):
    """Loss and accuracy over the real tokens, in plain NumPy, of each sentence tagged alone.

    Of the untrained tagger: every one of `tagger` has the same weights at first.
    """
    model = tagger((), max_tokens=WIDTH)
    alone = [model(strings([" ".join(words)]))[0].numpy() for words in SENTENCES]

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


JOINED = strings([" ".join(words) for words in SENTENCES])


def test_padded_tokens_and_tags_of_one_width(tagger, expected):
    tokens = strings(padded(SENTENCES, ""))
    check(tagger((None,), tokenizer=None), expected, tokens, padded(TAGS, 0))


def test_padded_tokens_of_a_width_that_the_model_knows(tagger, expected):
    model = tagger((WIDTH,), tokenizer=None)
    assert model.output_shape == (None, WIDTH, 3)
    check(model, expected, strings(padded(SENTENCES, "")), padded(TAGS, 0))


def test_tokens_and_tags_padded_per_batch(tagger, expected):
    data = batches(strings(SENTENCES))
    assert [int(tokens.shape[1]) for tokens, _ in data] == [4, 5, 2]
    check(tagger((None,), tokenizer=None), expected, data, has_fixed_width=False)


def test_joined_strings_and_tags_padded_to_max_tokens(tagger, expected):
    model = tagger((), max_tokens=WIDTH)
    assert model.output_shape == (None, WIDTH, 3)
    check(model, expected, JOINED, padded(TAGS, 0))
    assert model.predict(JOINED, batch_size=2, verbose=0).shape == (5, WIDTH, 3)


def test_joined_strings_and_tags_padded_per_batch(tagger, expected):
    check(tagger(()), expected, batches(JOINED), has_fixed_width=False)


def test_a_ragged_input(tagger, expected):
    tokens = strings(SENTENCES)
    check(tagger((None,), ragged=True, max_tokens=WIDTH), expected, tokens, padded(TAGS, 0))


def test_lists_of_lists(tagger, expected):
    # Without `max_tokens`, the outputs of each batch are as wide as its longest sentence.
    model = tagger((None,), tokenizer=None, max_tokens=WIDTH)
    check(model, expected, strings(SENTENCES), padded(TAGS, 0))


def test_lists_of_lists_that_are_padded(tagger, expected):
    tokens = strings(SENTENCES).to_tensor()
    tags = keras.utils.pad_sequences(TAGS, padding="post")
    assert tokens.shape == tags.shape == (5, LONGEST)
    check(tagger((None,), tokenizer=None), expected, tokens, tags)


def test_a_long_sentence_is_cut_with_its_tags(tagger):
    model = tagger((), max_tokens=3)
    tags = padded([row[:3] for row in TAGS], 0, width=3)
    loss = model.evaluate(JOINED, tags, verbose=0)[0]
    short = strings([" ".join(words[:3]) for words in SENTENCES])
    assert model.evaluate(short, tags, verbose=0)[0] == pytest.approx(loss, abs=1e-6)


def test_tokens_for_an_input_of_raw_strings(tagger, one_layer_folder):
    # Keras refuses them before any layer, and shows the two shapes.
    with pytest.raises(ValueError, match=r"Expected shape \(None,\).*shape \(5, None\)"):
        tagger(())(strings(SENTENCES))
    with pytest.raises(ValueError, match=r"make it with keras.Input\(shape=\(None,\), dtype"):
        keras.Sequential(
            [keras.Input((), dtype="string"), ElmoEmbedding(one_layer_folder, tokenizer=None)]
        )


def test_padded_tokens_for_a_model_with_a_tokenizer(tagger):
    model = tagger((None,), ragged=True, max_tokens=WIDTH)
    with pytest.raises(ValueError, match="make the model with `tokenizer=None`"):
        model(strings(padded(SENTENCES, "")))


def test_a_fixed_width_keeps_time_distributed_right(one_layer_folder):
    # Where the width is unknown, Keras 3.14.0 to 3.15.1 loops over the batch in its place.
    inputs = keras.Input((), dtype="string")
    dense = keras.layers.Dense(3)
    outputs = ElmoEmbedding(one_layer_folder, max_tokens=WIDTH)(inputs)
    outputs = [dense(outputs), keras.layers.TimeDistributed(dense)(outputs)]
    plain, distributed = keras.Model(inputs, outputs).predict(JOINED, batch_size=2, verbose=0)
    np.testing.assert_allclose(distributed, plain, atol=1e-6)


def test_a_convolution_over_short_texts(one_layer_folder):
    model = keras.Sequential(
        [
            keras.Input((), dtype="string"),
            ElmoEmbedding(one_layer_folder, max_tokens=6),
            keras.layers.Conv1D(8, 5),
            keras.layers.GlobalMaxPooling1D(),
            keras.layers.Dense(1),
        ]
    )
    model.compile("sgd", "mse")
    model.fit(strings(["a", "b c"]), np.zeros(2), verbose=0)
    assert model.layers[1].output.shape == (None, 2, 8)
    assert model.predict(strings(["a"]), verbose=0).shape == (1, 1)


@pytest.mark.parametrize(
    "shape, kwargs",
    [
        pytest.param(
            (None,), {"ragged": True, "max_tokens": WIDTH}, id="ragged", marks=pytest.mark.slow
        ),
        pytest.param((None,), {"tokenizer": None}, id="padded"),
        pytest.param(
            (WIDTH,), {"tokenizer": None}, id="padded to a fixed width", marks=pytest.mark.slow
        ),
    ],
)
def test_export_of_a_tagger_of_tokens(tagger, shape, kwargs, tmp_path):
    model = tagger(shape, **kwargs)
    keras_elmo.export_saved_model(model, tmp_path / "1", ops="core", max_tokens=LONGEST)
    run = tf.saved_model.load(tmp_path / "1").signatures["serving_default"]
    tokens = tf.constant(padded(SENTENCES, ""))
    found = run(tokens=tokens)["output_0"]
    assert found.shape == (5, WIDTH, 3)
    outputs = model(strings(SENTENCES) if kwargs.get("ragged") else tokens)
    for row, words in enumerate(SENTENCES):
        np.testing.assert_allclose(found[row, : len(words)], outputs[row, : len(words)], atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 5 tokens. Received: one of"):
        run(tokens=tf.constant([["a"] * WIDTH]))
    with pytest.raises(ValueError, match="must take raw strings"):
        keras_elmo.export_saved_model(model, tmp_path / "2", tokenizer="space")
    with pytest.raises(ValueError, match="`warmup_texts` must be lists of tokens"):
        keras_elmo.export_saved_model(model, tmp_path / "2", warmup_texts=["a b"])


def test_export_of_an_elmo_of_tokens(one_layer_folder, tmp_path):
    elmo = Elmo.from_pretrained(one_layer_folder, tokenizer=None)
    keras_elmo.export_saved_model(elmo, tmp_path / "1")
    signatures = tf.saved_model.load(tmp_path / "1").signatures
    assert set(signatures) == {
        "default",
        "serving_default",
        "tokens",
        *elmo.output_keys.sequences,
    }
    tokens = tf.constant(padded(SENTENCES, ""))
    expected = elmo(tokens)
    for name in ("default", "serving_default"):
        found = signatures[name](tokens=tokens)
        assert found["elmo"].shape == (5, WIDTH, 16)
        np.testing.assert_allclose(found["elmo"], expected["elmo"], atol=1e-5)
        np.testing.assert_array_equal(found["mask"], expected["mask"])
    assert set(signatures["word_emb"](tokens=tokens)) == {"word_emb", "sequence_len"}
    assert elmo.tokenizer is None
    keras_elmo.export_saved_model(elmo, tmp_path / "2", tokenizer="space", pooled_only=True)
    run = tf.saved_model.load(tmp_path / "2").signatures["default"]
    np.testing.assert_allclose(run(text=JOINED)["default"], expected["default"], atol=1e-5)


def test_export_of_an_elmo_that_cuts(one_layer_folder, tmp_path):
    elmo = Elmo.from_pretrained(one_layer_folder, max_tokens=3)
    keras_elmo.export_saved_model(elmo, tmp_path / "1", ops="core", pooled_only=True)
    run = tf.saved_model.load(tmp_path / "1").signatures["default"]
    found = run(text=JOINED)
    assert found["sequence_len"].numpy().tolist() == [3, 1, 3, 3, 2]
    np.testing.assert_allclose(found["default"], elmo(JOINED)["default"], atol=1e-5)
