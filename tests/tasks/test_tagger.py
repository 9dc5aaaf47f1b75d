"""The tagger in every form in which sentences and tags come."""

import json
import subprocess
import sys
import warnings

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import Tagger
from keras_elmo.tasks import Entity
from keras_elmo.tasks.task_model import Examples

# From the shortest to the longest, as `evaluate` has them: the loss is a mean over batches.
TEXTS = [
    text
    for text in (
        "Ada",
        "no one",
        "Ada met Charles",
        "London calls Ada Lovelace",
        "caf\u00e9 in  New\u00a0York !",
    )
    for _ in range(4)
]
SENTENCES = [text.split() for text in TEXTS]
TAGS = [
    tags
    for tags in (
        ["B-PER"],
        ["O", "O"],
        ["B-PER", "O", "B-PER"],
        ["B-LOC", "O", "B-PER", "I-PER"],
        ["O", "O", "B-LOC", "I-LOC", "O"],
    )
    for _ in range(4)
]
NAMES = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


@pytest.fixture(scope="module")
def tagger(one_layer_folder):
    keras.utils.set_random_seed(0)
    return Tagger(one_layer_folder, NAMES, units=4)


@pytest.fixture(
    scope="module",
    params=[True, pytest.param(False, marks=pytest.mark.slow)],
    ids=["CRF", "softmax"],
)
def trained(request, one_layer_folder):
    keras.utils.set_random_seed(0)
    model = Tagger(one_layer_folder, crf=request.param, units=6, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.05))
    model.fit(SENTENCES, TAGS, batch_size=10, epochs=25, verbose=0)
    return model


def padded(rows, width=7):
    return np.array([row + [""] * (width - len(row)) for row in rows])


def batched(x, y):
    return tf.data.Dataset.from_tensor_slices((x, y)).ragged_batch(3)


FORMS = {
    "lists": (SENTENCES, TAGS),
    "raw strings": (TEXTS, TAGS),
    "padded arrays": (padded(SENTENCES), padded(TAGS)),
    "pandas": (pd.Series(SENTENCES), pd.Series(TAGS)),
    "ragged": (tf.ragged.constant(SENTENCES), tf.ragged.constant(TAGS)),
    "tf.data": (batched(tf.ragged.constant(SENTENCES), tf.ragged.constant(TAGS)), None),
    "tf.data, padded": (
        tf.data.Dataset.from_tensor_slices((padded(SENTENCES), padded(TAGS))).batch(3),
        None,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_evaluate_gives_the_same_in_every_form(tagger, form):
    x, y = FORMS[form]
    expected = tagger.evaluate(SENTENCES, TAGS, batch_size=3, verbose=0, return_dict=True)
    found = tagger.evaluate(x, y, batch_size=3, verbose=0, return_dict=True)
    assert set(found) == {"loss", "accuracy", "f1"}
    assert found == pytest.approx(expected, abs=1e-5)


def test_one_batch(one_layer_folder, tagger):
    expected = tagger.evaluate(SENTENCES, TAGS, verbose=0, return_dict=True)
    for x in (SENTENCES, TEXTS, tf.ragged.constant(SENTENCES)):
        found = tagger.test_on_batch(x, TAGS, return_dict=True)
        assert found == pytest.approx(expected, abs=1e-5)
        p = tagger.predict(SENTENCES, verbose=0)
        np.testing.assert_allclose(tagger.predict_on_batch(x), p, atol=1e-5)
    model = Tagger(one_layer_folder, tagger.labels, units=4, dropout=0.0)
    losses = [model.train_on_batch(SENTENCES, TAGS, return_dict=True)["loss"] for _ in range(9)]
    assert losses[-1] < losses[0]


@pytest.mark.parametrize(
    "form",
    [
        "tf.data",
        *(pytest.param(form, marks=pytest.mark.slow) for form in FORMS if form != "tf.data"),
    ],
)
def test_fit_takes_the_tags_of_the_data(one_layer_folder, form):
    model = Tagger(one_layer_folder, units=4)
    x, y = FORMS[form]
    history = model.fit(x, y, validation_data=(x, y) if y is not None else x, verbose=0).history
    assert model.labels == NAMES
    assert np.isfinite(history["loss"][0]) and "val_f1" in history


def test_it_learns_tags_and_entities(trained):
    assert trained.tag(SENTENCES) == [
        list(zip(*pair, strict=True)) for pair in zip(SENTENCES, TAGS, strict=True)
    ]
    assert trained.tag(TEXTS) == trained.tag(SENTENCES)
    assert trained.tag([]) == [] and trained.tag([""]) == [[]]
    found = trained.entities(TEXTS[::4])
    assert found[2] == [Entity("PER", 0, 3, "Ada"), Entity("PER", 8, 15, "Charles")]
    assert found[3][1] == Entity("PER", 13, 25, "Ada Lovelace")
    assert found[4] == [Entity("LOC", 9, 17, "New\u00a0York")]
    for text, spans in zip(TEXTS[::4], found, strict=True):
        assert all(text[span.start : span.end] == span.text for span in spans)
    assert trained.entities(SENTENCES[12:13]) == [
        [Entity("LOC", 0, 1, "London"), Entity("PER", 2, 4, "Ada Lovelace")]
    ]
    assert trained.entities([]) == []
    figures = trained.evaluate(SENTENCES, TAGS, verbose=0, return_dict=True)
    assert (figures["accuracy"], figures["f1"]) == (1, 1)


def test_early_stopping_keeps_the_epoch_with_the_best_f1(one_layer_folder):
    keras.utils.set_random_seed(0)
    model = Tagger(one_layer_folder, units=4)
    model.compile(keras.optimizers.Adam(0.1))
    stopping, data = model.early_stopping(patience=2), (SENTENCES, TAGS)
    found = model.fit(
        *data, batch_size=4, epochs=20, validation_data=data, callbacks=stopping, verbose=0
    ).history["val_f1"]
    assert stopping.monitor == "val_f1" == f"val_{model.score}" and len(found) < 20
    kept = model.evaluate(SENTENCES, TAGS, verbose=0, return_dict=True)["f1"]
    assert kept == pytest.approx(max(found)) and kept > found[0]


def test_each_sentence_is_what_it_is_alone(trained):
    p = trained.predict(SENTENCES, batch_size=3, verbose=0)
    assert p.shape == (20, 5, 5) and p.dtype == np.float32
    examples = trained._computed_once(Examples(trained._texts(SENTENCES)), progress=False)
    (inputs,) = examples.batch()
    np.testing.assert_allclose(trained(inputs), trained(SENTENCES), atol=1e-4)
    for row, sentence in list(enumerate(SENTENCES))[::4]:
        alone = trained.predict([sentence], verbose=0)[0]
        np.testing.assert_allclose(alone, p[row, : len(sentence)], atol=1e-5)
        np.testing.assert_allclose(alone.sum(-1), 1, atol=1e-5)
        assert not p[row, len(sentence) :].any()
    dataset = batched(tf.ragged.constant(SENTENCES), tf.ragged.constant(TAGS))
    np.testing.assert_allclose(trained.predict(dataset, verbose=0), p, atol=1e-5)


def test_entities_with_a_tokenizer_that_changes_the_text(one_layer_folder):
    model = Tagger(one_layer_folder, NAMES, units=4, tokenizer="treebank")
    texts = ['He\u00df said: "caf\u00e9," don\'t.', "", "\U0001f600 (New York)", "a\ud83d. York"]
    tokens = model.elmo.tokenize(texts)
    best = [[NAMES.index("B-PER")] * len(row) for row in tokens]
    model._best_tags = lambda *_: best
    for text, spans, row in zip(texts, model.entities(texts), tokens, strict=True):
        text = text.replace("\ud83d", "\ufffd")  # half of a pair, as JSON may hold it
        assert [text[span.start : span.end] for span in spans] == [span.text for span in spans]
        assert len(spans) == len(row)


def test_forbidden_transitions_are_not_taken(one_layer_folder):
    keras.utils.set_random_seed(1)
    model = Tagger(one_layer_folder, NAMES, units=4)
    before = model.crf.get_weights()
    model.scores.set_weights(
        [10 * np.random.normal(size=w.shape) for w in model.scores.get_weights()]
    )
    sentences = [[f"w{k}" for k in range(n)] for n in range(1, 40)]
    rows = [[tag for _, tag in row] for row in model.tag(sentences)]
    pairs = {pair for row in rows for pair in zip(["O", *row], row, strict=False)}
    wrong = [(a, b) for a, b in pairs if b[0] == "I" and a[2:] != b[2:]]
    assert any(b[0] == "I" for _, b in pairs) and not wrong
    with warnings.catch_warnings():  # good tags warn of nothing
        warnings.simplefilter("error")
        model.fit(SENTENCES, TAGS, epochs=2, verbose=0)
    for old, new in zip(before, model.crf.get_weights(), strict=True):
        np.testing.assert_array_equal(old < -1e3, new < -1e3)


def test_tags_of_another_scheme_are_allowed_with_a_warning(one_layer_folder):
    model = Tagger(one_layer_folder, NAMES, units=4)
    tags = [["I-PER" if tag == "B-PER" else tag for tag in row] for row in TAGS]
    with pytest.warns(UserWarning, match="12 of 20 .* I-PER after no tag in sentence 0; so"):
        model._before_fit(model._examples(SENTENCES, tags))
    assert model.crf.get_weights()[1].min() > -1
    sentences, tags = SENTENCES * 6, [list(row) for row in TAGS * 6]
    tags[1][0] = "I-LOC"
    model = Tagger(one_layer_folder, NAMES, units=4)
    with pytest.warns(UserWarning, match="1 of 120 sentences .* in sentence 1$"):
        history = model.fit(sentences, tags, verbose=0)
    assert model.crf.get_weights()[1].min() < -1e3
    assert np.isfinite(history.history["loss"][0])


def test_weights_of_sentences_and_tags(tagger):
    rows = tagger._encode(tagger._texts(SENTENCES), TAGS)
    weights = np.linspace(0, 2, len(SENTENCES))
    found = tagger._weights(rows, weights, {"O": 3.0}).to_list()
    for weight, row, tags in zip(weights, found, TAGS, strict=True):
        assert row == pytest.approx([weight * (3 if tag == "O" else 1) for tag in tags])
    # Weights of 0 leave the loss of the others, in a mean over all tokens.
    tokens, tags = tf.ragged.constant(SENTENCES), tf.ragged.constant(TAGS)
    dataset = tf.data.Dataset.from_tensor_slices((tokens, tags, weights)).ragged_batch(20)
    (batch,) = tagger._encoded_dataset(dataset, {"O": 2.0})
    for weight, row, expected in zip(weights, batch[2].numpy(), TAGS, strict=True):
        expected = [weight * (2.0 if tag == "O" else 1.0) for tag in expected]
        np.testing.assert_allclose(row[: len(expected)], expected, atol=1e-6)
    some = tagger.evaluate(SENTENCES, TAGS, sample_weight=[1.0] + [0.0] * 19, verbose=0)[0]
    alone = tagger.evaluate(SENTENCES[:1], TAGS[:1], verbose=0)[0]
    count = sum(map(len, SENTENCES))
    assert some * count == pytest.approx(alone * len(SENTENCES[0]), rel=1e-4)


def test_parts_of_speech_have_no_f1_and_no_entities(one_layer_folder):
    model = Tagger(one_layer_folder, ["N", "V"], crf=False, units=4)
    history = model.fit([["a", "b"]], [["N", "V"]], verbose=0).history
    assert set(history) == {"loss", "accuracy"}
    with pytest.raises(ValueError, match="tags like B-PER.*Received: labels=.'N', 'V'."):
        model.entities(["a b"])


FRESH = """
import json, sys, keras
import keras_elmo
model = keras.models.load_model(sys.argv[1])
texts = json.loads(sys.argv[2])
p = model.predict(texts, verbose=0).tolist()
print(json.dumps([model.tag(texts), model.entities(texts), p]))
"""


def test_a_fresh_program_loads_it(trained, tmp_path):
    path = tmp_path / "tagger.keras"
    trained.save(path)
    loaded = keras.models.load_model(path)
    assert loaded.tag(TEXTS) == trained.tag(TEXTS)
    result = subprocess.run(
        [sys.executable, "-c", FRESH, path, json.dumps(TEXTS)],
        capture_output=True,
        text=True,
        check=True,
    )
    found, entities, p = json.loads(result.stdout.splitlines()[-1])
    assert [[tuple(pair) for pair in row] for row in found] == trained.tag(TEXTS)
    assert [[Entity(*span) for span in row] for row in entities] == trained.entities(TEXTS)
    np.testing.assert_allclose(p, trained.predict(TEXTS, verbose=0), atol=1e-6)


def test_the_saved_model_gives_tags_and_bytes(trained, tmp_path):
    keras_elmo.export_saved_model(trained, tmp_path / "1", max_tokens=6)
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    outputs = {
        k: v.numpy() for k, v in signatures["serving_default"](text=tf.constant(TEXTS)).items()
    }
    from_tokens = signatures["tokens"](tokens=tf.constant(padded(SENTENCES, 6)))
    p = trained.predict(TEXTS, verbose=0)
    for row, text in enumerate(TEXTS):
        count, data = len(SENTENCES[row]), text.encode()
        tokens = [
            data[a:b].decode()
            for a, b in zip(outputs["starts"][row], outputs["ends"][row], strict=True)
        ]
        assert tokens[:count] == SENTENCES[row] and not "".join(tokens[count:])
        for found in (outputs, from_tokens):
            tags = [tag.decode() for tag in np.asarray(found["tags"][row])]
            assert tags[:count] == TAGS[row] and not "".join(tags[count:])
        np.testing.assert_allclose(
            outputs["probabilities"][row, :count], p[row, :count].max(-1), atol=1e-5
        )
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 6 tokens"):
        signatures["serving_default"](text=tf.constant(["a b c d e f g"]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t.fit(SENTENCES, TAGS[:-1]), ValueError, "20 sentences, 19 lists of tags"),
        (lambda t: t.fit(["a", "b"], ["O", "B-X"]), TypeError, "must be a list. Received: 'O'"),
        (
            lambda t: t.fit([["a"], ["b", "c"]], [["O"], ["O"]]),
            *(ValueError, "2 tokens and 1 tags in sentence 1: b c"),
        ),
        (
            lambda t: t.fit([["a"], ["b", "c"]], [["O"], ["O", "X"]]),
            *(ValueError, "'X' in row 1 of the tags of sentence 1"),
        ),
        (lambda t: t.fit([], []), ValueError, "There must be texts"),
        (lambda t: t.tag([["a", 1]]), TypeError, "Received: 1 .int. in row 0"),
    ],
)
def test_wrong_input_is_one_line(tagger, call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(tagger)
    assert "\n" not in str(caught.value)


def test_the_elmo_must_give_a_vector_a_token(one_layer_folder):
    for arguments in ({"max_tokens": 3}, {"keep_sentence_boundaries": True}):
        with pytest.raises(ValueError, match="a vector for each token"):
            Tagger(one_layer_folder, NAMES, **arguments)
    with pytest.raises(ValueError, match="labels must be known"):
        Tagger(one_layer_folder).entities(["a"])
    with pytest.raises(ValueError, match="stateless"):
        Tagger(one_layer_folder, NAMES, stateful=True)


def test_a_text_of_5000_tokens(tagger):
    assert len(tagger.tag(["word " * 5000])[0]) == 5000
