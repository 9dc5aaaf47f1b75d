"""The classifier: what it reads, what of it trains, and what it says."""

import gc
import logging
import weakref

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from sklearn.utils.class_weight import compute_sample_weight
from tasks.cases import FILMS as TEXTS
from tasks.cases import LABELS, NAMES, batched

import keras_elmo
from keras_elmo import TextClassifier
from keras_elmo.tasks import batches, ending
from keras_elmo.tasks.examples import read_examples

TOKENS = [text.split() for text in TEXTS]
LABEL_INDICES = np.array([NAMES.index(label) for label in LABELS])


@pytest.fixture(scope="module")
def classifier(one_layer_folder):
    keras.utils.set_random_seed(0)
    return TextClassifier(one_layer_folder, NAMES, filters=4)


class Batches(keras.utils.PyDataset):
    """The texts in batches of five, a number of times, or without an end."""

    def __init__(self, num_batches):
        super().__init__()
        self._num_batches = num_batches

    num_batches = property(lambda self: self._num_batches)

    def __getitem__(self, index):
        rows = slice(5 * (index % 5), 5 * (index % 5) + 5)
        return TEXTS[rows], LABELS[rows]


# Each form of a column alone is read in test_examples.py and test_labels.py.
COLUMNS = np.array(TEXTS)[:, None], np.array(LABELS)[:, None]
FORMS = {
    "columns": COLUMNS,
    "tf.data": (batched(5, TEXTS, LABELS), None),
    "tf.data, columns": (batched(5, *COLUMNS), None),
    "tf.data, tokens": (batched(5, TOKENS, LABELS), None),
    "PyDataset": (Batches(5), None),
    "generator": (None, None),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alike(classifier, form):
    x, y = FORMS[form]
    if form == "generator":
        x = (Batches(5)[index] for index in range(5))
    examples = read_examples(classifier, x, y, batch_size=7)
    assert examples.tokens.to_list() == [[word.encode() for word in row] for row in TOKENS]
    assert examples.targets.numpy().tolist() == LABEL_INDICES.tolist()
    assert examples.batch_size == (5 if y is None else 7)


def test_evaluate_is_the_mean_of_all_texts_from_lists_and_datasets(classifier):
    p = classifier.predict(TEXTS, verbose=0)
    losses = -np.log(p[np.arange(24), LABEL_INDICES])
    first = classifier.evaluate(TEXTS, LABELS, batch_size=5, steps=1, verbose=0)
    assert first[0] == pytest.approx(np.mean(losses[:5]), abs=1e-5)
    for form in ("columns", "tf.data"):
        found = classifier.evaluate(*FORMS[form], verbose=0, return_dict=True)
        assert found["loss"] == pytest.approx(np.mean(losses), abs=1e-5)
        assert found["accuracy"] == pytest.approx(np.mean(p.argmax(-1) == LABEL_INDICES), abs=1e-6)


def test_it_learns_and_each_text_is_what_it_is_alone(trained_classifier):
    trained = trained_classifier
    assert (trained.labels, trained.classify(TEXTS)) == (NAMES, LABELS)
    p = trained.predict(TEXTS, batch_size=7, verbose=0)
    assert p.shape == (24, 2) and p.dtype == np.float32
    for row in range(6):
        np.testing.assert_allclose(trained.predict(TEXTS[row], verbose=0)[0], p[row], atol=1e-5)
        np.testing.assert_allclose(trained([TEXTS[row]])[0], p[row], atol=1e-5)
    for columns in ((TEXTS,), (TEXTS, LABELS)):
        np.testing.assert_allclose(trained.predict(batched(5, *columns)), p, atol=1e-5)
    assert trained.predict([], verbose=0).shape == trained([]).shape == (0, 2)
    assert trained.classify([]) == []
    assert trained.report(batched(5, TEXTS, LABELS)).classes == dict.fromkeys(NAMES, (1, 1, 1, 12))


@pytest.mark.usefixtures("untraced")
def test_fit_without_epochs(one_layer_folder, monkeypatch, capsys):
    monkeypatch.setattr(TextClassifier, "texts_read", 60)
    monkeypatch.setattr(ending, "MIN_EPOCHS", 3)
    monkeypatch.setattr(ending, "MAX_EPOCHS", 8)
    model = TextClassifier(one_layer_folder, NAMES, filters=4)
    model.compile(keras.optimizers.SGD(0.0))  # so that no epoch after the first is better
    whole, seen = (TEXTS, LABELS), keras.callbacks.Callback()

    def num_epochs(*data, **kwargs):
        history = model.fit(*data, batch_size=8, verbose=kwargs.pop("verbose", 0), **kwargs).history
        return len(history["loss"]), "val_accuracy" in history

    # five without a better one
    assert num_epochs(*whole, validation_data=whole, callbacks=seen) == (6, True)
    assert num_epochs(*whole, validation_split=0.5) == (6, True)
    assert seen.model is model
    assert num_epochs(*whole, epochs=2) == (2, False)
    assert num_epochs(*FORMS["tf.data, tokens"]) == (3, False)
    for count, expected in ((12, 5), (4, 8)):
        assert num_epochs(TEXTS[:count], LABELS[:count]) == (expected, False)
    assert num_epochs(batched(5, *whole).repeat(), steps_per_epoch=2) == (6, False)
    assert capsys.readouterr().err == ""

    model.compile(keras.optimizers.SGD(0.1))
    kept, weights = [], model.head.get_weights
    keep = keras.callbacks.LambdaCallback(on_epoch_end=lambda *_: kept.append(weights()))
    assert num_epochs(TEXTS[:12], LABELS[:12], callbacks=keep) == (5, False)
    for found, *of_epochs in zip(weights(), *kept[2:], strict=True):
        assert not np.array_equal(of_epochs[0], of_epochs[1])
        np.testing.assert_allclose(found, np.mean(of_epochs, axis=0), atol=1e-6)


def test_several_labels_of_a_text(one_layer_folder):
    keras.utils.set_random_seed(0)
    rows = [[w for w in ("good", "awful") if w in text] for text in TEXTS]
    model = TextClassifier(one_layer_folder, rows, multi_label=True, filters=4, dropout=0.0)
    assert model.labels == ["good", "awful"] and model.main_metric == "binary_accuracy"
    model.compile(keras.optimizers.Adam(0.05))
    model.fit(TEXTS, rows, batch_size=8, epochs=15, verbose=0)
    assert [sorted(r) for r in model.classify(TEXTS)] == [sorted(r) for r in rows]
    ones = np.array([["good" in r, "awful" in r] for r in rows])
    assert model.report(TEXTS, ones).averages["samples avg"].count == ones.sum()
    expected = read_examples(model, TEXTS, rows).targets.numpy()
    for y in (ones, tf.ragged.constant(rows)):
        found = read_examples(model, dataset(TEXTS, y).batch(5)).targets
        np.testing.assert_array_equal(found, expected)
    # The same from a dataset that is read as the training goes on.
    examples = read_examples(model, batched(5, TEXTS, rows).repeat(), steps=1)
    stream = batches.batches(examples, model.elmo)
    _, targets = next(iter(stream))
    np.testing.assert_array_equal(targets, expected[:5])
    assert stream.element_spec[1].shape.as_list() == [None, 2]


def test_weights_of_texts_and_classes(classifier):
    losses = -np.log(classifier.predict(TEXTS, verbose=0)[np.arange(24), LABEL_INDICES])
    weights = np.linspace(0, 2, 24)
    loss, _ = classifier.evaluate(TEXTS, LABELS, sample_weight=weights, verbose=0)
    # Keras's loss is the mean of its batches of 24 texts, not divided by the weights.
    assert loss == pytest.approx(np.mean(losses * weights), abs=1e-5)
    of_classes = np.where(LABEL_INDICES, 3.0, 1.0)
    for columns, of_texts in ((TEXTS, LABELS, weights), weights), ((TEXTS, LABELS), 1.0):
        examples = [read_examples(classifier, batched(7, *columns), steps=n) for n in (None, 1)]
        whole, stream = (each.weighted({"pos": 3.0}, classifier._labels) for each in examples)
        np.testing.assert_allclose(whole.weights, of_texts * of_classes, atol=1e-6)
        _, targets, found = next(iter(batches.batches(stream, classifier.elmo)))
        np.testing.assert_array_equal(targets, LABEL_INDICES[:7])
        np.testing.assert_allclose(found, (of_texts * of_classes)[:7], atol=1e-6)


def test_balanced_weights_are_those_of_scikit_learn(one_layer_folder):
    model = TextClassifier(one_layer_folder, ["a", "b", "c", "never"], filters=1)
    labels = ["a"] * 5 + ["b"] * 2 + ["c"]
    examples = read_examples(model, TEXTS[:8], labels, np.arange(8))
    found = examples.weighted("balanced", model._labels).weights
    np.testing.assert_allclose(found, np.arange(8) * compute_sample_weight("balanced", labels))
    start = f"<TextClassifier {model.name}: 4 labels (a, b, c, never); <Elmo "
    assert repr(model).startswith(start)


def test_validation_data(one_layer_folder, classifier):
    numbers, batches = LABEL_INDICES.tolist(), []
    model = TextClassifier(one_layer_folder, [0, 1], filters=4)
    model.compile(keras.optimizers.SGD(0.0))
    loss, _ = model.evaluate(TEXTS[18:], numbers[18:], batch_size=1, verbose=0)
    count = keras.callbacks.LambdaCallback(on_test_batch_end=lambda batch, logs: batches.append(1))
    options = {"epochs": 1, "callbacks": count, "verbose": 0, "validation_batch_size": 1}
    split = {"validation_split": 0.25, "class_weight": {0: 10, 1: 10}}  # of what trains alone
    history = model.fit(batched(5, TEXTS, numbers), **split, **options).history
    assert history["val_loss"][0] == pytest.approx(loss, abs=1e-5) and len(batches) == 6
    model.fit(TEXTS, numbers, validation_data=(TEXTS, numbers), validation_steps=3, **options)
    assert len(batches) == 9
    assert set(model.classify(TEXTS)) <= {0, 1}
    with pytest.raises(ValueError, match="`validation_data`: There must be as many.*23 labels"):
        classifier.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS[:-1]))
    with pytest.raises(ValueError, match="`validation_data`: There must be a tuple of texts"):
        classifier.fit(TEXTS, LABELS, validation_data=TEXTS)


# What trains


def test_an_elmo_that_is_handed_over_stays_as_it_is(new_elmo):
    new_elmo.mixes[0].gamma.assign(1.5)
    before = new_elmo.get_weights()
    first, second = (TextClassifier(new_elmo, NAMES, filters=4) for _ in range(2))
    predicted = second.predict(TEXTS[:3], verbose=0)
    assert new_elmo.trainable_part == "mix" and len(new_elmo.trainable_variables) == 2
    assert float(first.elmo.mixes[0].gamma) == 1.5 and first.elmo.source == new_elmo.source
    first.trainable_part = "all"
    for variable in first.trainable_variables:  # as a training does
        variable.assign_add(tf.ones_like(variable))
    assert all(map(np.array_equal, new_elmo.get_weights(), before))
    np.testing.assert_array_equal(second.predict(TEXTS[:3], verbose=0), predicted)


@pytest.mark.parametrize("layers", ["all", "elmo"])
def test_no_flag_makes_a_mix_train_that_nobody_reads(one_layer_folder, layers):
    model = TextClassifier(one_layer_folder, NAMES, layers=layers, filters=1, num_mixes=2)
    reads_mix = layers == "elmo"
    assert model.trainable_part == ("mix" if reads_mix else "none")
    count = 2 if reads_mix else 0
    for value in (False, True):
        model.trainable = value
        assert len(model.elmo.trainable_variables) == (count if value else 0)
    model.elmo.trainable_part = "mix"
    assert len(model.elmo.trainable_variables) == count
    model.trainable_part = "bilm"
    assert len(model.elmo.trainable_variables) == count + len(model.elmo.bilm.weights)
    if not reads_mix:
        with pytest.raises(ValueError, match="must be \"none\".*trainable_part='mix'"):
            model.trainable_part = "mix"


@pytest.mark.filterwarnings("error:Skipping variable loading")
def test_a_loaded_model_trains_on_also_a_part_that_is_set_on_the_elmo(one_layer_folder, tmp_path):
    model = TextClassifier(one_layer_folder, NAMES, filters=1, word_dim=0)
    assert float(model.optimizer.learning_rate) == pytest.approx(1e-3)
    model.save(tmp_path / "auto.keras")
    loaded = keras.models.load_model(tmp_path / "auto.keras")
    loaded.trainable_part = "all"  # compiles it anew
    assert float(loaded.optimizer.learning_rate) == pytest.approx(5e-4)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9))
    model.save(tmp_path / "own.keras")
    model = keras.models.load_model(tmp_path / "own.keras")
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    model.fit(TEXTS, LABELS, epochs=1, verbose=0)
    model.compile()
    model.elmo.trainable_part = "all"
    before = [layer.get_weights() for layer in (model.elmo.bilm, model.elmo.character_encoder)]
    model.fit(TEXTS, LABELS, epochs=1, verbose=0)
    assert float(model.optimizer.learning_rate) == pytest.approx(5e-4)
    after = [layer.get_weights() for layer in (model.elmo.bilm, model.elmo.character_encoder)]
    for old, new in zip(before, after, strict=True):
        assert any(np.any(a != b) for a, b in zip(old, new, strict=True))


def test_the_head_reads_all_layers_or_their_mix_and_words(one_layer_folder):
    for layers, word_dim, name in (("all", 0, "projection_dim"), ("elmo", 3, "output_dim")):
        model = TextClassifier(one_layer_folder, NAMES, layers=layers, filters=1, word_dim=word_dim)
        size = getattr(model.elmo.config, name) * (3 if layers == "all" else 1)
        assert model.head.get_layer("width_1").kernel.shape[1] == size + word_dim
    assert model.main_metric == "accuracy"


# What is frozen is embedded once


@pytest.mark.parametrize(
    "arguments",
    [
        {"tokenizer": "treebank", "word_dim": 0},
        {"max_tokens": 2, "keep_sentence_boundaries": True},
        {"dtype": "mixed_bfloat16", "layers": "elmo", "trainable_part": "none"},
    ],
)
def test_batches_of_ids_and_of_vectors_are_read_as_texts_are(one_layer_folder, arguments):
    model = TextClassifier(one_layer_folder, NAMES, filters=4, **arguments)
    examples = read_examples(model, TEXTS, LABELS)
    tolerance = 2e-3 if "dtype" in arguments else 1e-5
    cache = batches.VectorCache(model.elmo, model.vector_names)
    expected = model._features(keras_elmo.strings(TEXTS))
    for given in (None, cache):
        ((inputs, targets),) = batches.batches(examples, model.elmo, cache=given)
        found = model._features(inputs)
        is_token, width = found["mask"].numpy(), found["mask"].shape[1]
        np.testing.assert_array_equal(is_token, expected["mask"][:, :width])
        for name in ("vectors", "words"):
            one, other = (tf.cast(x[name][:, :width], tf.float32) for x in (found, expected))
            np.testing.assert_allclose(one[is_token], other[is_token], rtol=0, atol=tolerance)
        np.testing.assert_array_equal(targets, LABEL_INDICES)


def test_fit_embeds_each_text_once_and_keeps_nothing(one_layer_folder, monkeypatch):
    model, kept = TextClassifier(one_layer_folder, NAMES, filters=4), []
    make_rows = batches.VectorCache.rows

    def rows(*args):
        dataset = make_rows(*args)
        kept.append(weakref.ref(dataset))
        return dataset

    monkeypatch.setattr(batches.VectorCache, "rows", rows)
    monkeypatch.setattr(model.elmo, "call", None)
    options = {"validation_data": batched(5, TEXTS, LABELS), "epochs": 3, "verbose": 0}
    for cache_bytes in (10**9, 500):
        history = model.fit(TEXTS, LABELS, cache_bytes=cache_bytes, **options).history
    gc.collect()
    assert [dataset() for dataset in kept] == 4 * [None]
    monkeypatch.undo()
    found = history["val_loss"][-1], history["val_accuracy"][-1]
    assert found == pytest.approx(model.evaluate(TEXTS, LABELS, verbose=0), abs=1e-5)


def test_a_dataset_without_an_end_is_embedded_anew(one_layer_folder, monkeypatch):
    model = TextClassifier(one_layer_folder, NAMES, filters=4)
    monkeypatch.setattr(model.elmo, "embed_stream", None)
    history = model.fit(ENDLESS, steps_per_epoch=2, epochs=2, verbose=0).history
    assert np.isfinite(history["loss"]).all() and len(history["loss"]) == 2
    for x in (Batches(None), (Batches(5)[index] for index in range(40))):
        first, *_, last = batches.batches(read_examples(model, x, steps=2), model.elmo).take(39)
        np.testing.assert_array_equal(first[1], LABEL_INDICES[:5])
        np.testing.assert_array_equal(last[1], LABEL_INDICES[15:20])
    wrong = batched(24, TEXTS, ["pos"] * 23 + ["other"])
    with pytest.raises(ValueError, match="one of neg, pos.*'other' in row 23 of batch 0"):
        model.fit(wrong.repeat(), steps_per_epoch=1)
    late = batched(24, TEXTS, LABELS).repeat(40).concatenate(wrong)
    for run in (
        lambda: model.fit(late, steps_per_epoch=41, epochs=1, verbose=0),
        lambda: model.evaluate(late, steps=41, verbose=0),
    ):
        with pytest.raises(ValueError, match="^Each label must be one.* row 23 of batch 40$"):
            run()


def test_each_word_has_a_vector_of_its_own(one_layer_folder):
    model = TextClassifier(one_layer_folder, NAMES, filters=4, word_dim=3)
    table = model.head.get_layer("word_vectors")
    # What trains is the row of each word, in lower case, and only that.
    (old,) = table.get_weights()
    model.fit(["Good \u00c4"], ["pos"], epochs=1, verbose=0)
    changed = np.flatnonzero((table.get_weights()[0] != old).any(-1))
    assert changed.tolist() == sorted(batches.word_rows(["good", "\u00e4"]).numpy().tolist())
    assert table.embeddings.shape[0] == 32_768  # of 64 floats: 8.4 MB in docs/small-machines.md


@pytest.mark.parametrize("count", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_models_leave_no_warning_and_no_memory(one_layer_folder, caplog, count):
    models, logger = [], logging.getLogger("tensorflow")
    logger.addHandler(caplog.handler)
    for _ in range(count):
        model = TextClassifier(one_layer_folder, NAMES, word_dim=0, filters=1)
        model.fit(TEXTS[:3], LABELS[:3], epochs=1, verbose=0)
        models.append(weakref.ref(model))
    model.classify(TEXTS[:3])
    logger.removeHandler(caplog.handler)
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]
    del model
    gc.collect()
    assert not any(model() for model in models)


def test_the_saved_model_says_labels(trained_classifier, tmp_path):
    trained = trained_classifier
    trained.export(tmp_path / "1", max_tokens=4)
    loaded = tf.saved_model.load(str(tmp_path / "1"))
    served = loaded.signatures["serving_default"]
    outputs = served(text=tf.constant(TEXTS))
    assert [label.decode() for label in outputs["label"].numpy()] == LABELS
    expected = trained.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(outputs["probabilities"], expected, atol=1e-5)
    np.testing.assert_allclose(loaded(TEXTS), expected, atol=1e-5)
    assert outputs["labels"].numpy().tolist() == [[b"neg", b"pos"]] * len(TEXTS)
    assert served(text=tf.zeros([0], tf.string))["probabilities"].shape == (0, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 4 tokens"):
        served(text=tf.constant(["a b c d e"]))


BOTH = {"validation_split": 0.5, "validation_data": (TEXTS, LABELS)}
SPLIT = {"validation_split": 0.25, "steps_per_epoch": 1}
BALANCED = {"class_weight": "balanced", "steps_per_epoch": 1}
DATASET, ENDLESS = batched(24, TEXTS, LABELS), batched(5, TEXTS, LABELS).repeat()


def dataset(*columns):
    return tf.data.Dataset.from_tensor_slices(columns)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.fit(TEXTS, LABELS[:-1]), ValueError, "as many labels.*24 texts, 23 labels"),
        (lambda c: c.fit(TEXTS), ValueError, "There must be labels.*y=None"),
        (lambda c: c.fit([], []), ValueError, "There must be texts"),
        (lambda c: c.fit(["a"], ["good"]), ValueError, "one of neg, pos.*'good' in row 0"),
        (lambda c: c.fit(["a", None], ["neg", "pos"]), TypeError, "None .NoneType. in row 1; drop"),
        (lambda c: c.fit(["a", "b"], ["neg", None]), TypeError, "Received: None .* in row 1"),
        (lambda c: c.fit(["a"], np.array("pos")), TypeError, "must be a list of labels"),
        (lambda c: c.fit(TEXTS, LABELS, validation_split=1.5), ValueError, "`validation_split`"),
        (lambda c: c.fit(DATASET, **SPLIT), ValueError, "without `steps_per_epoch`.*=0.25 of 24"),
        (lambda c: c.fit(TEXTS, LABELS, **BOTH), ValueError, "must be 0 beside `validation_data`"),
        (lambda c: c.fit(TEXTS, LABELS, sample_weight=[1.0]), ValueError, "each of the 24 texts"),
        (lambda c: c.fit(TEXTS, LABELS, class_weight={"x": 1}), ValueError, "one of neg, pos.*'x'"),
        (lambda c: c.fit(TEXTS, LABELS, class_weight={"pos": "x"}), ValueError, "{'pos': 'x'}"),
        (lambda c: c.fit(TEXTS, LABELS, class_weight="even"), ValueError, "or a dict"),
        (lambda c: c.fit(TEXTS, LABELS, class_weight={"pos": np.nan}), ValueError, "'pos': nan"),
        (lambda c: c.fit(TEXTS, LABELS, sample_weight=[-1.0] * 24), ValueError, "not negative"),
        (lambda c: c.fit(TEXTS, LABELS, sample_weight=[np.nan] * 24), ValueError, "not negative"),
        (lambda c: c.fit(TEXTS, LABELS, sample_weight=[np.inf] * 24), ValueError, "not negative"),
        (lambda c: c.fit(ENDLESS, **BALANCED), ValueError, "not bal"),
        (lambda c: c.fit(Batches(None)), ValueError, "must have an end"),
        (lambda c: c.fit(iter(TEXTS)), ValueError, "a tuple of texts and labels.* of batch 0"),
        (lambda c: c.export("x", format="onnx"), ValueError, "`format`"),
        (lambda c: c.fit(TEXTS, LABELS, batch_size=0), ValueError, "`batch_size`"),
        (lambda c: c.fit(TEXTS, LABELS, steps_per_epoch=0), ValueError, "`steps_per_epoch`"),
        (lambda c: c.fit(TEXTS, LABELS, epochs=-1), ValueError, "`epochs`"),
        (lambda c: c.fit(DATASET, LABELS), ValueError, "`y` and .* must be None"),
        (lambda c: c.fit(dataset(TEXTS, LABELS)), ValueError, "must hold batches of texts"),
        (lambda c: c.fit(dataset(TEXTS).batch(3)), ValueError, "a tuple of texts and labels"),
        (lambda c: c.fit(DATASET.take(0)), ValueError, "There must be texts"),
        (lambda c: c.fit(ENDLESS), ValueError, "must have an end"),
        (lambda c: c.predict(ENDLESS), ValueError, "must have an end"),
        (lambda c: c.predict(dataset(TEXTS)), ValueError, "must hold batches of texts"),
        (lambda c: c.predict(pd.DataFrame([["A b", "c d"]])), ValueError, "Raw strings must have"),
        (lambda c: c.classify([1, 2]), TypeError, "Received: 1 .int. in row 0"),
        (lambda c: c.labels_of(["a good film"]), ValueError, "of shape .texts, 2.*shape .1,"),
    ],
)
def test_wrong_input_is_one_line(classifier, call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(classifier)
    assert "\n" not in str(caught.value)


def test_wrong_arguments(one_layer_folder, new_elmo):
    cases = [
        (lambda: TextClassifier(one_layer_folder, ["a"]), "at least two labels"),
        (lambda: TextClassifier(one_layer_folder, NAMES, filters=0), "`filters`"),
        (lambda: TextClassifier(one_layer_folder, NAMES, word_dim=-1), "`word_dim`"),
        (lambda: TextClassifier(one_layer_folder, NAMES, dropout=1), "`dropout`"),
        (lambda: TextClassifier(one_layer_folder, NAMES, layers="mix"), "`layers` must be one of"),
        (lambda: TextClassifier(one_layer_folder, NAMES, stateful=True), "stateless"),
        (lambda: TextClassifier(one_layer_folder, NAMES, trainable_part="mix"), 'must be "none"'),
        (lambda: TextClassifier(new_elmo, NAMES, max_tokens=3), "an Elmo, and \\['max_tokens'\\]"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
