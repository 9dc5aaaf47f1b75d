"""The classifier in every form in which texts and labels come."""

import functools
import gc
import json
import logging
import os
import subprocess
import sys
import weakref

import keras
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo import Elmo, TextClassifier
from keras_elmo.tasks import examples as data

TEXTS = [
    "a good film",
    "an awful mess",
    "good , good fun",
    "awful",
    "",
    "caf\u00e9 good \u00fc",
] * 4
LABELS = ["pos", "neg", "pos", "neg", "neg", "pos"] * 4
NAMES = ["neg", "pos"]


@pytest.fixture(scope="module")
def classifier(one_layer_folder):
    keras.utils.set_random_seed(0)
    return TextClassifier(one_layer_folder, NAMES, filters=4)


@pytest.fixture(scope="module")
def trained(one_layer_folder):
    keras.utils.set_random_seed(0)
    model = TextClassifier(one_layer_folder, set(LABELS), filters=4, dropout=0.0)
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
    "tf.data, tokens": (batched(tf.ragged.constant(TOKENS), LABELS), None),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_alike(classifier, form):
    x, y = FORMS[form]
    examples = classifier._read(x, y, batch_size=7)
    assert examples.tokens.to_list() == [[word.encode() for word in row] for row in TOKENS]
    assert examples.targets.numpy().tolist() == [NAMES.index(label) for label in LABELS]
    assert examples.batch_size == (5 if y is None else 7)


def test_evaluate_is_the_mean_of_all_texts_from_lists_and_datasets(classifier):
    p = classifier.predict(TEXTS, verbose=0)
    right = np.array([NAMES.index(label) for label in LABELS])
    loss = -np.mean(np.log(p[np.arange(len(right)), right]))
    first = classifier.evaluate(TEXTS, LABELS, batch_size=5, steps=1, verbose=0)
    assert first[0] == pytest.approx(-np.mean(np.log(p[np.arange(5), right[:5]])), abs=1e-5)
    for form in ("lists", "tf.data"):
        found = classifier.evaluate(*FORMS[form], verbose=0, return_dict=True)
        assert found["loss"] == pytest.approx(loss, abs=1e-5)
        assert found["accuracy"] == pytest.approx(np.mean(p.argmax(-1) == right), abs=1e-6)


def test_it_learns_and_each_text_is_what_it_is_alone(trained):
    assert trained.labels == NAMES
    assert trained.classify(TEXTS) == LABELS
    p = trained.predict(TEXTS, batch_size=7, verbose=0)
    assert p.shape == (24, 2) and p.dtype == np.float32
    for row in range(6):
        np.testing.assert_allclose(trained.predict(TEXTS[row], verbose=0)[0], p[row], atol=1e-5)
        np.testing.assert_allclose(trained([TEXTS[row]])[0], p[row], atol=1e-5)
    dataset = tf.data.Dataset.from_tensor_slices(TEXTS).batch(5)
    np.testing.assert_allclose(trained.predict(dataset), p, atol=1e-5)
    pairs = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(5).repeat()
    np.testing.assert_allclose(trained.predict(pairs, steps=2), p[:10], atol=1e-5)
    assert trained.predict([], verbose=0).shape == trained([]).shape == (0, 2)
    assert trained.classify([]) == []
    assert trained.labels_of(p) == LABELS


def test_several_labels_of_a_text(one_layer_folder):
    keras.utils.set_random_seed(0)
    rows = [[w for w in ("good", "awful") if w in text] for text in TEXTS]
    model = TextClassifier(one_layer_folder, rows, multi_label=True, filters=4, dropout=0.0)
    assert model.labels == ["good", "awful"] and model.main_metric == "binary_accuracy"
    model.compile(keras.optimizers.Adam(0.05))
    model.fit(TEXTS, rows, batch_size=8, epochs=15, verbose=0)
    assert [sorted(r) for r in model.classify(TEXTS)] == [sorted(r) for r in rows]
    ones = np.array([["good" in r, "awful" in r] for r in rows])
    expected = model._encode(TEXTS, rows).targets.numpy()
    for y in (ones, tf.constant(ones), pd.DataFrame(ones * 1), pd.Series(rows)):
        np.testing.assert_array_equal(model._encode(TEXTS, y).targets, expected)
    for y in (ones, tf.ragged.constant(rows)):
        found = model._read(batched(TEXTS, y), batch_size=3).targets
        np.testing.assert_array_equal(found, expected)
    # The same from a dataset that is read as the training goes on.
    dataset = batched(TEXTS, tf.ragged.constant(rows)).repeat()
    stream = model._read(dataset, batch_size=3, steps=1).stream
    inputs, targets = next(iter(stream))
    np.testing.assert_array_equal(targets, expected[:5])
    assert stream.element_spec[1].shape.as_list() == [None, 2]


def test_weights_of_texts_and_classes(classifier):
    y = np.array([NAMES.index(label) for label in LABELS])
    losses = -np.log(classifier.predict(TEXTS, verbose=0)[np.arange(24), y])
    weights = np.linspace(0, 2, 24)
    loss, _ = classifier.evaluate(TEXTS, LABELS, sample_weight=weights, verbose=0)
    # Keras's loss is the mean of its batches of 24 texts, not divided by the weights.
    assert loss == pytest.approx(np.mean(losses * weights), abs=1e-5)
    of_classes = np.where(y, 3.0, 1.0)
    for x, of_texts in (
        (tf.data.Dataset.from_tensor_slices((TEXTS, LABELS, weights)).batch(7), weights),
        (tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(7), 1.0),
    ):
        read = functools.partial(classifier._read, batch_size=3, class_weight={"pos": 3.0})
        np.testing.assert_allclose(read(x).weights, of_texts * of_classes, atol=1e-6)
        _, targets, found = next(iter(read(x.repeat(), steps=1).stream))
        np.testing.assert_array_equal(targets, y[:7])
        np.testing.assert_allclose(found, (of_texts * of_classes)[:7], atol=1e-6)


def test_validation_data(one_layer_folder, classifier):
    numbers = [int(label == "pos") for label in LABELS]
    model = TextClassifier(one_layer_folder, [0, 1], filters=4)
    model.compile(keras.optimizers.SGD(0.0))
    loss, _ = model.evaluate(TEXTS[18:], numbers[18:], batch_size=1, verbose=0)
    batches = []
    count = keras.callbacks.LambdaCallback(on_test_batch_end=lambda batch, logs: batches.append(1))
    history = model.fit(
        TEXTS, numbers, validation_split=0.25, validation_batch_size=1, callbacks=count, verbose=0
    ).history
    assert history["val_loss"][0] == pytest.approx(loss, abs=1e-5) and len(batches) == 6
    model.fit(
        TEXTS,
        numbers,
        validation_data=(TEXTS, numbers),
        validation_batch_size=2,
        validation_steps=3,
        callbacks=count,
        verbose=0,
    )
    assert len(batches) == 9
    assert set(model.classify(TEXTS)) <= {0, 1}
    with pytest.raises(ValueError, match="`validation_data`: There must be as many.*23 labels"):
        classifier.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS[:-1]))
    with pytest.raises(ValueError, match="must be a pair of texts and labels"):
        classifier.fit(TEXTS, LABELS, validation_data=TEXTS)


# What trains


def test_an_elmo_that_is_handed_over_stays_as_it_is(new_elmo):
    new_elmo.mixes[0].gamma.assign(1.5)
    before, vectors = new_elmo.get_weights(), new_elmo.embed(TEXTS[:3])
    first, second = (TextClassifier(new_elmo, NAMES, filters=4) for _ in range(2))
    predicted = second.predict(TEXTS[:3], verbose=0)
    assert new_elmo.trainable_part == "mix" and len(new_elmo.trainable_variables) == 2
    assert float(first.elmo.mixes[0].gamma) == 1.5 and first.elmo.source == new_elmo.source
    first.trainable_part = "all"
    first.compile(keras.optimizers.SGD(1.0))
    first.fit(TEXTS, LABELS, verbose=0)
    assert not np.allclose(first.elmo.bilm.get_weights()[0], new_elmo.bilm.get_weights()[0])
    for own, old in zip(new_elmo.get_weights(), before, strict=True):
        np.testing.assert_array_equal(own, old)
    for own, old in zip(new_elmo.embed(TEXTS[:3]), vectors, strict=True):
        np.testing.assert_array_equal(own, old)
    np.testing.assert_array_equal(second.predict(TEXTS[:3], verbose=0), predicted)


@pytest.mark.parametrize("layers", ["all", "elmo"])
def test_no_flag_makes_a_mix_train_that_nobody_reads(one_layer_folder, layers):
    model = TextClassifier(one_layer_folder, NAMES, layers=layers, filters=4)
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
def test_trainable_part_compiles_anew_also_after_loading(classifier, tmp_path):
    assert float(classifier.optimizer.learning_rate) == pytest.approx(1e-3)
    classifier.save(tmp_path / "x.keras")
    model = keras.models.load_model(tmp_path / "x.keras")
    assert model.trainable_part == "none"
    count = len(model.trainable_variables)
    model.trainable_part = "all"
    assert float(model.optimizer.learning_rate) == pytest.approx(5e-4)
    assert len(model.trainable_variables) > count
    before = model.elmo.character_encoder.get_weights()
    model.fit(TEXTS, LABELS, verbose=0)
    after = model.elmo.character_encoder.get_weights()
    assert any(np.any(a != b) for a, b in zip(before, after, strict=True))


def test_a_model_with_an_optimizer_of_ones_own_trains_on_after_loading(one_layer_folder, tmp_path):
    model = TextClassifier(one_layer_folder, NAMES, filters=4)
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9))
    model.save(tmp_path / "x.keras")
    loaded = keras.models.load_model(tmp_path / "x.keras")
    assert isinstance(loaded.optimizer, keras.optimizers.SGD)
    loaded.fit(TEXTS, LABELS, verbose=0)
    with pytest.raises(TypeError, match="labels"):
        TextClassifier(one_layer_folder)


@pytest.mark.filterwarnings("error:Skipping variable loading")
def test_the_head_reads_all_layers_or_their_mix(one_layer_folder, tmp_path):
    sizes = []
    for layers in ("all", "elmo"):
        model = TextClassifier(one_layer_folder, NAMES, layers=layers, filters=4)
        model.trainable_part = "all"
        model.save(tmp_path / "x.keras")
        loaded = keras.models.load_model(tmp_path / "x.keras")
        sizes.append(loaded.head.get_layer("width_1").kernel.shape[1])
        before = loaded.predict(TEXTS, verbose=0)
        loaded.elmo.mixes[0].gamma.assign(3.0)
        is_same = np.allclose(loaded.predict(TEXTS, verbose=0), before)
        assert is_same == (layers == "all")
    config = model.elmo.config
    assert model.main_metric == "accuracy"
    assert sizes == [64 + 3 * config.projection_dim, 64 + config.output_dim]


def test_a_part_that_is_set_on_the_elmo_itself_trains(one_layer_folder):
    model = TextClassifier(one_layer_folder, NAMES, filters=1, word_dim=0)
    model.fit(batched(TEXTS, LABELS).repeat(), steps_per_epoch=1, verbose=0)
    model.elmo.trainable_part = "bilm"
    before = model.elmo.bilm.get_weights()
    model.fit(batched(TEXTS, LABELS).repeat(), steps_per_epoch=1, verbose=0)
    assert float(model.optimizer.learning_rate) == pytest.approx(5e-4)
    after = model.elmo.bilm.get_weights()
    assert any(np.any(a != b) for a, b in zip(before, after, strict=True))


def test_mixes_that_nobody_reads_do_not_train(one_layer_folder):
    model = TextClassifier(one_layer_folder, NAMES, layers="elmo", filters=1, num_mixes=2)
    assert len(model.elmo.trainable_variables) == 2


# What is frozen is embedded once


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"cache_bytes": 500},
        {"tokenizer": "treebank", "word_dim": 0},
        {"max_tokens": 2, "keep_sentence_boundaries": True},
        {"dtype": "mixed_bfloat16"},
        {"layers": "elmo", "trainable_part": "none"},
    ],
)
def test_fit_embeds_each_text_once(one_layer_folder, monkeypatch, arguments):
    cache_bytes = arguments.pop("cache_bytes", 10**9)
    model, calls = TextClassifier(one_layer_folder, NAMES, filters=4, **arguments), []
    embed_stream = model.elmo.embed_stream
    monkeypatch.setattr(
        model.elmo, "embed_stream", lambda *args, **kw: calls.append(1) or embed_stream(*args, **kw)
    )
    monkeypatch.setattr(model.elmo, "call", None)
    history = model.fit(
        TEXTS,
        LABELS,
        validation_data=batched(TEXTS, LABELS),
        epochs=3,
        cache_bytes=cache_bytes,
        verbose=0,
    ).history
    monkeypatch.undo()
    loss, accuracy = model.evaluate(TEXTS, LABELS, verbose=0)
    assert len(calls) == 2
    tolerance = 2e-3 if "dtype" in arguments else 1e-5
    assert (history["val_loss"][-1], history["val_accuracy"][-1]) == pytest.approx(
        (loss, accuracy), abs=tolerance
    )


def test_a_dataset_without_an_end_is_embedded_anew(one_layer_folder, monkeypatch):
    model = TextClassifier(one_layer_folder, NAMES, filters=4)
    monkeypatch.setattr(model.elmo, "embed_stream", None)
    history = model.fit(
        batched(TEXTS, LABELS).repeat(), steps_per_epoch=2, epochs=2, verbose=0
    ).history
    assert np.isfinite(history["loss"]).all() and len(history["loss"]) == 2
    wrong = tf.data.Dataset.from_tensor_slices((TEXTS, ["pos"] * 23 + ["other"])).batch(24)
    with pytest.raises(ValueError, match="one of neg, pos.*'other' in row 23 of batch 0"):
        model.fit(wrong.repeat(), steps_per_epoch=1)
    late = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(24).repeat(40)
    late = late.concatenate(wrong)
    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: Each label must be one"):
        model.fit(late, steps_per_epoch=41, verbose=0)


def test_fit_keeps_nothing_when_it_ends(one_layer_folder, monkeypatch):
    kept, make = [], data.VectorCache.rows

    def rows(*args):
        dataset = make(*args)
        kept.append(weakref.ref(dataset))
        return dataset

    monkeypatch.setattr(data.VectorCache, "rows", rows)
    model = TextClassifier(one_layer_folder, NAMES, filters=4)
    for _ in range(2):
        model.fit(TEXTS, LABELS, validation_data=(TEXTS, LABELS), epochs=2, verbose=0)
    gc.collect()
    assert [dataset() for dataset in kept] == 4 * [None]


def test_each_word_has_a_vector_of_its_own(one_layer_folder):
    model = TextClassifier(one_layer_folder, NAMES, filters=4, word_dim=3)
    table, dim = model.head.get_layer("word_vectors"), 3 * model.elmo.config.projection_dim
    assert model.head.get_layer("width_1").kernel.shape[1] == dim + 3
    before = model.predict(["a good film"], verbose=0)
    table.embeddings.assign_add(tf.ones_like(table.embeddings))
    assert (model.predict(["a good film"], verbose=0) != before[0]).all()
    # What trains is the row of each word, in lower case, and only that.
    (old,) = table.get_weights()
    model.fit(["Good \u00c4"], ["pos"], verbose=0)
    changed = np.flatnonzero((table.get_weights()[0] != old).any(-1))
    assert changed.tolist() == sorted(data.word_rows(["good", "\u00e4"]).numpy().tolist())
    without = TextClassifier(one_layer_folder, NAMES, filters=4, word_dim=0)
    assert without.head.get_layer("width_1").kernel.shape[1] == dim
    assert without.predict(["a good film"], verbose=0).shape == (1, 2)
    # docs/classifiers.md says how large the table is.
    default = TextClassifier(one_layer_folder, NAMES).head.get_layer("word_vectors")
    assert default.embeddings.shape[0] == 32_768
    assert round(4e-6 * default.count_params(), 1) == 8.4


def test_the_process(one_layer_folder, caplog):
    """Six classifiers in one process show no warning of TensorFlow's, and leave nothing."""
    models = []
    with caplog.at_level(logging.WARNING, "tensorflow"):
        logger = logging.getLogger("tensorflow")
        logger.addHandler(caplog.handler)
        for _ in range(6):
            model = TextClassifier(one_layer_folder, NAMES, word_dim=0, filters=1)
            model.fit(TEXTS[:3], LABELS[:3], verbose=0)
            models.append(weakref.ref(model))
        model.classify(TEXTS[:3])
        logger.removeHandler(caplog.handler)
    assert not caplog.records
    del model
    gc.collect()
    assert not any(model() for model in models)


DISTRIBUTED = """
import json, sys, keras, numpy as np, tensorflow as tf
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
import keras_elmo
folder, texts, labels, tags = sys.argv[1], *map(json.loads, sys.argv[2:])
losses = []
for devices in (["CPU:0", "CPU:1"], ["CPU:0"]):
    with tf.distribute.MirroredStrategy(devices).scope():
        keras.utils.set_random_seed(0)
        model = keras_elmo.TextClassifier(folder, ["neg", "pos"], filters=2, dropout=0.0)
        model.compile(keras.optimizers.SGD(0.1))
        if devices[1:]:
            tagger = keras_elmo.Tagger(folder, tags, units=2)
            tagger.trainable_part = "bilm"
    history = model.fit(
        texts, labels, batch_size=8, epochs=2, shuffle=False, validation_data=(texts, labels),
        verbose=0,
    ).history
    losses.append(history["loss"] + history["val_loss"])
losses.append(tagger.fit(texts, tags, batch_size=8, epochs=2, verbose=0).history["loss"])
print(json.dumps(losses))
"""


def test_two_devices_train_as_one_does(one_layer_folder):
    tags = [["a", "b"] * 9 for _ in TEXTS]
    tags = [row[: len(tokens)] for row, tokens in zip(tags, TOKENS, strict=True)]
    arguments = [str(one_layer_folder), *map(json.dumps, (TEXTS, LABELS, tags))]
    result = subprocess.run(
        [sys.executable, "-c", DISTRIBUTED, *arguments], capture_output=True, text=True, check=True
    )
    two, one, of_tagger = json.loads(result.stdout.splitlines()[-1])
    np.testing.assert_allclose(two, one, rtol=1e-3)
    assert of_tagger[1] < of_tagger[0]


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
    texts = [*TEXTS, "I met \u0130pek"]  # which Turkish lowers in its own way
    expected = trained.predict(texts, verbose=0)
    np.testing.assert_allclose(loaded.predict(texts, verbose=0), expected, atol=1e-6)
    wanted = trained.classify(texts)
    arguments = [path, json.dumps(texts), json.dumps(wanted)]
    result = subprocess.run(
        [sys.executable, "-c", FRESH, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "LC_ALL": "tr_TR.UTF-8"},
    )
    (labels, p), (names, figures) = map(json.loads, result.stdout.splitlines()[-2:])
    assert (labels, names) == (wanted, ["neg", "pos"])
    np.testing.assert_allclose(p, expected, atol=1e-6)
    assert figures == pytest.approx(trained.evaluate(texts, wanted, verbose=0), abs=1e-5)


def test_the_saved_model_says_labels(trained, tmp_path):
    keras_elmo.export_saved_model(trained, tmp_path / "1", max_tokens=4)
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    outputs = served(text=tf.constant(TEXTS))
    assert [label.decode() for label in outputs["label"].numpy()] == LABELS
    expected = trained.predict(TEXTS, verbose=0)
    np.testing.assert_allclose(outputs["probabilities"], expected, atol=1e-5)
    assert outputs["labels"].numpy().tolist() == [[b"neg", b"pos"]] * len(TEXTS)
    assert served(text=tf.zeros([0], tf.string))["probabilities"].shape == (0, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 4 tokens"):
        served(text=tf.constant(["a b c d e"]))


def test_summary(trained):
    lines = []
    trained.summary(print_fn=lines.append, expand_nested=True)
    text = "\n".join(lines)
    for part in ("elmo", "Conv1D", "classifier", "(None, 2)"):
        assert part in text, text


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
        (lambda c: c.fit([["a", 7]], ["neg"]), TypeError, "7 .int. in token 1 of row 0"),
        (lambda c: c.fit(["a", "b"], ["neg", None]), TypeError, "Received: None .* in row 1"),
        (lambda c: c.fit(TEXTS, LABELS, validation_split=1.5), ValueError, "`validation_split`"),
        (lambda c: c.fit(TEXTS, LABELS, sample_weight=[1.0]), ValueError, "each of the 24 texts"),
        (
            lambda c: c.fit(TEXTS, LABELS, sample_weight=[[1.0], [1.0, 2.0]]),
            *(ValueError, "each of the 24 texts"),
        ),
        (lambda c: c.fit(TEXTS, LABELS, class_weight={"x": 1}), ValueError, "one of neg, pos.*'x'"),
        (
            lambda c: c.fit(TEXTS, LABELS, class_weight="balanced"),
            *(ValueError, "a dict from labels.*Received: 'balanced'"),
        ),
        (lambda c: c.fit(TEXTS, LABELS, batch_size=0), ValueError, "`batch_size`"),
        (lambda c: c.fit(TEXTS, LABELS, cache_bytes=-1), ValueError, "`cache_bytes`"),
        (lambda c: c.fit(batched(TEXTS, LABELS), LABELS), ValueError, "`y` and .* must be None"),
        (lambda c: c.fit(dataset(TEXTS, LABELS)), ValueError, "must hold batches of texts"),
        (lambda c: c.fit(dataset(TEXTS).batch(3)), ValueError, "must hold batches of texts"),
        (lambda c: c.fit(dataset(TEXTS, LABELS).take(0).batch(2)), ValueError, "There must be te"),
        (lambda c: c.predict(dataset(TEXTS)), ValueError, "must hold batches of texts"),
        (lambda c: c.fit(dataset(tf.ragged.constant(TOKENS), LABELS)), ValueError, "must hold ba"),
        (lambda c: c.fit(batched(TEXTS, LABELS).repeat()), ValueError, "its steps must be given"),
        (lambda c: c.evaluate(batched(TEXTS, LABELS).repeat()), ValueError, "its steps must be g"),
        (lambda c: c.fit(["a"], np.array("pos")), TypeError, "must be a list of labels"),
        (lambda c: c.fit(["a", "b"], [b"pos", b"\xff"]), TypeError, "xff' .bytes. in row 1"),
        (lambda c: c.fit(TEXTS, LABELS, class_weight={"pos": "x"}), ValueError, "Received: 'pos'"),
        (
            lambda c: c.fit(TEXTS, LABELS, validation_split=0.5, validation_data=(TEXTS, LABELS)),
            *(ValueError, "must be 0 beside `validation_data`"),
        ),
        (
            lambda c: c.predict(pd.DataFrame({"title": ["A film"], "body": ["It is good"]})),
            *(ValueError, "must not hold whitespace"),
        ),
        (
            lambda c: c.predict(dataset(TEXTS).batch(2).repeat()),
            ValueError,
            "its steps must be given",
        ),
        (
            lambda c: c.predict(TEXTS, steps=2),
            ValueError,
            "`steps` must be None.*steps=2, and",
        ),
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
        (lambda: TextClassifier(new_elmo, NAMES, max_tokens=3), "an Elmo, and \\['max_tokens'\\]"),
        (lambda: Elmo(new_elmo.config, trainable_part="top"), "one of .'none', 'mix', 'bilm'"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=message):
            call()
