"""The classifier in every form in which texts and labels come."""

import gc
import json
import os
import pathlib
import subprocess
import sys
import weakref

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import TextClassifier
from keras_elmo.tasks import task_model

TEXTS = [
    "a good film",
    "an awful mess",
    "good , good fun",
    "awful",
    "",
    "caf\u00e9 good \u00fc",
] * 4
LABELS = ["pos", "neg", "pos", "neg", "neg", "pos"] * 4
STATUS = pathlib.Path("/proc/self/statm")


@pytest.fixture(scope="module")
def classifier(one_layer_folder):
    keras.utils.set_random_seed(0)
    return TextClassifier(one_layer_folder, ["neg", "pos"], units=4)


@pytest.fixture(scope="module")
def trained(one_layer_folder):
    keras.utils.set_random_seed(0)
    model = TextClassifier(one_layer_folder, units=4, dropout=0.0)
    model.compile(keras.optimizers.Adam(0.03))
    model.fit(TEXTS, LABELS, batch_size=8, epochs=15, verbose=0)
    return model


def batched(x, y, *weights):
    return tf.data.Dataset.from_tensor_slices((x, y, *weights)).ragged_batch(5)


TOKENS = [text.split() for text in TEXTS]
FORMS = {
    "lists": (TEXTS, LABELS),
    "tuples": (tuple(TEXTS), tuple(LABELS)),
    "arrays": (np.array(TEXTS), np.array(LABELS)),
    "columns": (np.array(TEXTS)[:, None], np.array(LABELS)[:, None]),
    "pandas": (pd.Series(TEXTS, index=range(5, 29)), pd.Series(LABELS).astype("category")),
    "tensors": (tf.constant(TEXTS), tf.constant(LABELS)),
    "tokens": (TOKENS, LABELS),
    "ragged tokens": (tf.ragged.constant(TOKENS), LABELS),
    "tf.data": (batched(TEXTS, LABELS), None),
    "tf.data, columns": (batched(np.array(TEXTS)[:, None], np.array(LABELS)[:, None]), None),
}


@pytest.mark.parametrize("form", FORMS)
def test_evaluate_gives_the_same_in_every_form(classifier, form):
    p = classifier.predict(TEXTS, verbose=0)
    right = np.array([["neg", "pos"].index(label) for label in LABELS])
    x, y = FORMS[form]
    found = classifier.evaluate(x, y, verbose=0, return_dict=True)
    loss = -np.mean(np.log(p[np.arange(len(right)), right]))
    assert found["loss"] == pytest.approx(loss, abs=1e-5)
    assert found["accuracy"] == pytest.approx(np.mean(p.argmax(-1) == right), abs=1e-6)


@pytest.mark.parametrize(
    "form",
    [
        "tf.data",
        *(pytest.param(form, marks=pytest.mark.slow) for form in FORMS if form != "tf.data"),
    ],
)
def test_fit_takes_the_labels_of_the_data(one_layer_folder, form):
    model = TextClassifier(one_layer_folder, units=4)
    assert model.labels is None
    x, y = FORMS[form]
    history = model.fit(x, y, validation_data=(x, y) if y is not None else x, verbose=0).history
    assert model.labels == ["neg", "pos"]
    assert set(history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert np.isfinite(history["val_loss"][0])


@pytest.mark.parametrize("form", ["lists", "arrays", "pandas", "ragged tokens"])
def test_one_batch(one_layer_folder, classifier, form):
    x, y = FORMS[form]
    expected = classifier.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    found = classifier.test_on_batch(x, y, return_dict=True)
    assert found == pytest.approx(expected, abs=1e-5)
    p = classifier.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(classifier.predict_on_batch(x), p, atol=1e-5)
    model = TextClassifier(one_layer_folder, ["neg", "pos"], units=4, dropout=0.0)
    first, *_, last = (model.train_on_batch(x, y, return_dict=True)["loss"] for _ in range(9))
    assert last < first
    with pytest.raises(ValueError, match="other"):
        model.train_on_batch(["a"], ["other"])


def test_it_learns_and_each_text_is_what_it_is_alone(trained):
    assert trained.classify(TEXTS) == LABELS
    p = trained.predict(TEXTS, batch_size=7, verbose=0)
    assert p.shape == (24, 2) and p.dtype == np.float32
    for row in range(6):
        np.testing.assert_allclose(trained.predict(TEXTS[row], verbose=0)[0], p[row], atol=1e-5)
        np.testing.assert_allclose(trained([TEXTS[row]])[0], p[row], atol=1e-5)
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(5)
    np.testing.assert_allclose(trained.predict(dataset, verbose=0), p, atol=1e-5)
    assert trained.predict([], verbose=0).shape == (0, 2)
    assert trained.classify([]) == []


def test_several_labels_of_a_text(one_layer_folder):
    keras.utils.set_random_seed(0)
    model = TextClassifier(one_layer_folder, multi_label=True, units=4, dropout=0.0)
    rows = [[w for w in ("good", "awful") if w in text] for text in TEXTS]
    model.compile(keras.optimizers.Adam(0.05))
    model.fit(TEXTS, rows, batch_size=8, epochs=15, verbose=0)
    assert model.labels == ["awful", "good"]
    assert [sorted(r) for r in model.classify(TEXTS)] == [sorted(r) for r in rows]
    ones = np.array([["awful" in r, "good" in r] for r in rows])
    by_lists, by_array = (model.evaluate(TEXTS, y, verbose=0) for y in (rows, ones))
    assert by_lists == by_array
    for other in (batched(TEXTS, ones), batched(TEXTS, tf.ragged.constant(rows))):
        assert model.evaluate(other, verbose=0) == pytest.approx(by_lists, abs=1e-6)
    assert model.evaluate(TEXTS, tf.constant(ones), verbose=0) == by_lists


def test_weights_of_texts_and_classes(classifier):
    y = [["neg", "pos"].index(label) for label in LABELS]
    losses = -np.log(classifier.predict(TEXTS, verbose=0)[np.arange(24), y])
    weights = np.linspace(0, 2, 24)
    loss, _ = classifier.evaluate(TEXTS, LABELS, sample_weight=weights, verbose=0)
    # Keras's loss is the mean of its batches of 24 texts, not divided by the weights.
    assert loss == pytest.approx(np.mean(losses * weights), abs=1e-5)
    expected = classifier._weights(tf.constant(y), weights, {"pos": 3.0})
    np.testing.assert_allclose(expected, weights * np.where(y, 3.0, 1.0), atol=1e-6)
    dataset = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS, weights)).batch(24)
    for data in (dataset, dataset.map(lambda texts, labels, weights: (texts, labels))):
        (batch,) = classifier._encoded_dataset(data, {"pos": 3.0})
        of_texts = weights if data is dataset else 1.0
        np.testing.assert_allclose(batch[2], of_texts * np.where(y, 3.0, 1.0), atol=1e-6)


def test_validation_split_takes_the_last_and_labels_may_be_ints(one_layer_folder):
    model = TextClassifier(one_layer_folder, units=4)
    numbers = [int(label == "pos") for label in LABELS]
    model.compile(keras.optimizers.SGD(0.0))
    history = model.fit(TEXTS, numbers, validation_split=0.25, verbose=0).history
    loss, _ = model.evaluate(TEXTS[18:], numbers[18:], verbose=0)
    assert history["val_loss"][0] == pytest.approx(loss, abs=1e-5)
    assert model.labels == [0, 1] and set(model.classify(TEXTS)) <= {0, 1}


@pytest.mark.filterwarnings("error:Skipping variable loading")
def test_trainable_part_compiles_anew_also_after_loading(classifier, tmp_path):
    assert float(classifier.optimizer.learning_rate) == pytest.approx(1e-3)
    classifier.save(tmp_path / "x.keras")
    model = keras.models.load_model(tmp_path / "x.keras")
    count = len(model.trainable_variables)
    model.trainable_part = "all"
    assert float(model.optimizer.learning_rate) == pytest.approx(5e-4)
    assert len(model.trainable_variables) > count
    before = model.elmo.character_encoder.get_weights()
    model.fit(TEXTS, LABELS, verbose=0)
    after = model.elmo.character_encoder.get_weights()
    assert any(np.any(a != b) for a, b in zip(before, after, strict=True))


@pytest.mark.filterwarnings("error:Skipping variable loading")
def test_the_head_reads_all_layers_or_their_mix(one_layer_folder, tmp_path):
    sizes, trained = [], []
    for layers in ("all", "elmo"):
        model = TextClassifier(one_layer_folder, ["neg", "pos"], layers=layers, units=4)
        model.trainable_part = "all"
        mix = model.elmo.mixes[0].scalars.path
        trained.append(mix in [v.path for v in model.trainable_variables])
        model.save(tmp_path / "x.keras")
        loaded = keras.models.load_model(tmp_path / "x.keras")
        sizes.append(loaded.convolutions[0].kernel.shape[1])
        before = loaded.predict(TEXTS, verbose=0)
        loaded.elmo.mixes[0].gamma.assign(3.0)
        is_same = np.allclose(loaded.predict(TEXTS, verbose=0), before)
        assert is_same == (layers == "all")
    config = model.elmo.config
    assert model.score == "accuracy"
    expected = [64 + 3 * config.projection_dim, 64 + config.output_dim]
    assert sizes == expected and trained == [False, True]


def test_vectors_of_a_frozen_elmo_are_computed_once(one_layer_folder, monkeypatch):
    texts = ["", "a good film", "fun"]
    frozen = keras_elmo.Elmo.from_pretrained(one_layer_folder, trainable=False)

    def compute_once(source=one_layer_folder, **kwargs):
        model = TextClassifier(source, ["neg", "pos"], units=4, **kwargs)
        examples = task_model.Examples(model._texts(texts))
        found = model._computed_once(examples, progress=False)
        if found is not examples:
            np.testing.assert_allclose(model(found.batch()[0]), model(texts), atol=1e-5)
        return found is not examples

    for kwargs in (
        {},
        {"tokenizer": "treebank"},
        {"word_size": 0},
        {"max_tokens": 2},
        {"keep_sentence_boundaries": True},
        {"max_tokens": 2, "keep_sentence_boundaries": True},
    ):
        assert compute_once(**kwargs)
    assert compute_once(frozen, layers="elmo")
    for kwargs in ({"trainable_part": "bilm"}, {"layers": "elmo"}, {"dtype": "mixed_bfloat16"}):
        assert not compute_once(**kwargs)
    monkeypatch.setattr(task_model, "MAX_VECTOR_BYTES", 100)
    with pytest.warns(UserWarning, match="vectors of 4 tokens take .* anew in each epoch"):
        assert not compute_once()


@pytest.mark.skipif(not STATUS.exists(), reason="the memory of a process is read as in Linux")
def test_batches_are_taken_from_the_vectors_and_not_from_a_copy():
    def memory():
        gc.collect()
        pages = int(STATUS.read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    size = 200 * 10**6
    tokens = tf.RaggedTensor.from_row_lengths(tf.fill([size // 4000], b"word"), [10] * 5000)
    vectors = np.ones([size // 4000, 1000], np.float32)
    dataset = task_model.Examples(tokens, tf.zeros([5000]), vectors=vectors).dataset(8, True)
    before = memory()
    batches = iter(dataset)
    assert next(batches)[0]["vectors"].nrows() == 8
    assert memory() - before < size / 2


def test_fit_keeps_no_vectors_when_it_ends(one_layer_folder, monkeypatch):
    kept, compute = [], TextClassifier._computed_once

    def computed_once(self, *args):
        examples = compute(self, *args)
        kept.append(weakref.ref(examples.vectors))
        return examples

    monkeypatch.setattr(TextClassifier, "_computed_once", computed_once)
    model = TextClassifier(one_layer_folder, ["neg", "pos"], units=4)
    for _ in range(2):
        model.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS), epochs=2, verbose=0)
    gc.collect()
    assert [vectors() for vectors in kept] == 4 * [None]


def test_each_word_has_a_vector_of_its_own(one_layer_folder):
    model = TextClassifier(one_layer_folder, ["neg", "pos"], units=4, word_size=3)
    elmo = model.elmo
    assert model.convolutions[0].kernel.shape[1] == 3 * elmo.config.projection_dim + 3
    before = model.predict(["a good film"], verbose=0)
    model.word_vectors.embeddings.assign_add(tf.ones_like(model.word_vectors.embeddings))
    assert (model.predict(["a good film"], verbose=0) != before[0]).all()
    # What trains is the row of each word, in lower case, and only that.
    table = model.word_vectors.get_weights()[0]
    model.fit(["Good \u00c4"], ["pos"], verbose=0)
    changed = np.flatnonzero((model.word_vectors.get_weights()[0] != table).any(-1))
    expected = tf.strings.to_hash_bucket_fast(["good", "\u00e4"], task_model.WORD_ROWS)
    assert changed.tolist() == sorted(expected.numpy().tolist())
    without = TextClassifier(one_layer_folder, ["neg", "pos"], units=4, word_size=0)
    assert not hasattr(without, "word_vectors")
    assert without.convolutions[0].kernel.shape[1] == 3 * elmo.config.projection_dim
    # docs/classifiers.md says how large the table is.
    default = TextClassifier(one_layer_folder, ["neg", "pos"])
    assert default.word_vectors.embeddings.shape[0] == 32_768
    assert round(4e-6 * default.word_vectors.count_params(), 1) == 8.4


def test_fit_embeds_each_text_once(one_layer_folder, monkeypatch):
    model, calls = TextClassifier(one_layer_folder, ["neg", "pos"], units=4), []
    embed_stream = model.elmo.embed_stream
    monkeypatch.setattr(
        model.elmo, "embed_stream", lambda *args, **kw: calls.append(1) or embed_stream(*args, **kw)
    )
    monkeypatch.setattr(model.elmo, "call", None)
    history = model.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS), epochs=3, verbose=0).history
    monkeypatch.undo()
    loss, accuracy = model.evaluate(TEXTS, LABELS, verbose=0)
    assert len(calls) == 2
    assert (history["val_loss"][-1], history["val_accuracy"][-1]) == pytest.approx(
        (loss, accuracy), abs=1e-5
    )


FRESH = """
import json, sys, keras, numpy as np
import keras_elmo
model = keras.models.load_model(sys.argv[1])
texts = json.loads(sys.argv[2])
print(json.dumps([model.classify(texts), model.predict(texts, verbose=0).tolist()]))
print(json.dumps([model.labels, model.evaluate(texts, json.loads(sys.argv[3]), verbose=0)]))
"""


def test_a_fresh_program_loads_it(trained, tmp_path):
    path = tmp_path / "classifier.keras"
    trained.save(path)
    loaded = keras.models.load_model(path)
    expected = trained.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(loaded.predict(TEXTS, verbose=0), expected, atol=1e-6)
    arguments = [path, json.dumps(TEXTS), json.dumps(LABELS)]
    result = subprocess.run(
        [sys.executable, "-c", FRESH, *arguments], capture_output=True, text=True, check=True
    )
    (labels, p), (names, figures) = map(json.loads, result.stdout.splitlines()[-2:])
    assert (labels, names) == (LABELS, ["neg", "pos"])
    np.testing.assert_allclose(p, expected, atol=1e-6)
    assert figures == pytest.approx(trained.evaluate(TEXTS, LABELS, verbose=0), abs=1e-5)


def test_the_saved_model_says_labels(trained, tmp_path):
    keras_elmo.export_saved_model(trained, tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    outputs = served(text=tf.constant(TEXTS))
    assert [label.decode() for label in outputs["label"].numpy()] == LABELS
    expected = trained.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(outputs["probabilities"], expected, atol=1e-5)
    assert outputs["labels"].numpy().tolist() == [[b"neg", b"pos"]] * len(TEXTS)


def test_summary_and_repr(trained):
    lines = []
    trained.summary(print_fn=lines.append)
    text = "\n".join(lines)
    for part in ("elmo", "Conv1D", "classifier", "(None, 2)"):
        assert part in text, text


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.fit(TEXTS, LABELS[:-1]), ValueError, "as many labels.*24 texts, 23 labels"),
        (lambda c: c.fit(TEXTS), ValueError, "There must be labels.*y=None"),
        (
            lambda c: c.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS[:-1])),
            ValueError,
            "`validation_data`: There must be as many labels.*23 labels",
        ),
        (lambda c: c.fit([], []), ValueError, "There must be texts"),
        (lambda c: c.fit(["a"], ["good"]), ValueError, "one of neg, pos.*'good' in row 0"),
        (lambda c: c.fit(["a", None], ["neg", "pos"]), TypeError, "None .NoneType. in row 1"),
        (lambda c: c.fit(["a", "b"], ["neg", None]), TypeError, "Received: None .* in row 1"),
        (lambda c: c.fit(TEXTS, LABELS, validation_split=1.5), ValueError, "`validation_split`"),
        (lambda c: c.fit(TEXTS, LABELS, sample_weight=[1.0]), ValueError, "each of the 24 texts"),
        (lambda c: c.fit(TEXTS, LABELS, class_weight={"x": 1}), ValueError, "one of neg, pos.*'x'"),
        (lambda c: c.fit(batched(TEXTS, LABELS), LABELS), ValueError, "`y` must be None"),
        (lambda c: c.classify([1, 2]), TypeError, "Received: 1 .int. in row 0"),
    ],
)
def test_wrong_input_is_one_line(classifier, call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(classifier)
    assert "\n" not in str(caught.value)


def test_wrong_arguments(one_layer_folder, new_elmo):
    cases = [
        (lambda: TextClassifier(one_layer_folder, ["a"]), "two labels at least"),
        (lambda: TextClassifier(one_layer_folder, units=0), "`units`"),
        (lambda: TextClassifier(one_layer_folder, word_size=-1), "`word_size`"),
        (lambda: TextClassifier(one_layer_folder, dropout=1), "`dropout`"),
        (lambda: TextClassifier(one_layer_folder, layers="mix"), "`layers` must be one of"),
        (lambda: TextClassifier(one_layer_folder)(["a"]), "labels must be known"),
        (lambda: TextClassifier(one_layer_folder).classify(["a"]), "labels must be known"),
        (lambda: TextClassifier(one_layer_folder).fit(TEXTS, ["x"] * 24), "two labels at least"),
        (
            lambda: TextClassifier(one_layer_folder).fit(batched(TEXTS, LABELS).repeat()),
            "without an end, `labels` must be given",
        ),
        (
            lambda: TextClassifier(one_layer_folder, multi_label=True).fit(["a"], np.eye(2)[:1]),
            "`labels` must be given",
        ),
        (lambda: TextClassifier(one_layer_folder).serving_signatures(), "labels must be known"),
        (
            lambda: TextClassifier.from_config({"model": new_elmo, "labels": [0, 1], "new": 1}),
            "of this version.*'new'",
        ),
        (lambda: TextClassifier(new_elmo, xla=True), "an Elmo, and \\['xla'\\]"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
