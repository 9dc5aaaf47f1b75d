"""What classifiers and taggers have in common: their files, and devices."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from tasks.cases import FILMS, LABELS, TEXTS

from keras_elmo.tasks import Entity

FRESH = """
import json, sys, keras
import keras_elmo
classifier, tagger = map(keras.models.load_model, sys.argv[1:3])
films, texts, labels = map(json.loads, sys.argv[3:])
print(json.dumps({
    "labels": classifier.labels,
    "classes": classifier.classify(films),
    "films": classifier.predict(films, verbose=0).tolist(),
    "scores": classifier.evaluate(films, labels, verbose=0),
    "tags": tagger.tag(texts),
    "entities": tagger.entities(texts),
    "texts": tagger.predict(texts, verbose=0).tolist(),
}))
"""


def run(code, *arguments, **environment):
    """What a fresh process prints at its end."""
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return json.loads(result.stdout.splitlines()[-1])


def test_a_fresh_program_loads_them(trained_classifier, trained_tagger, tmp_path):
    classifier, tagger = trained_classifier, trained_tagger
    paths = [tmp_path / "classifier.keras", tmp_path / "tagger.keras"]
    classifier.save(paths[0])
    tagger.save(paths[1])
    films = [*FILMS, "I met \u0130pek"]  # which Turkish lowers in its own way
    labels = classifier.classify(films)
    arguments = *map(str, paths), *map(json.dumps, (films, TEXTS, labels))
    found = run(FRESH, *arguments, LC_ALL="tr_TR.UTF-8")
    assert (found["classes"], found["labels"]) == (labels, classifier.labels)
    np.testing.assert_allclose(
        found["films"], classifier.predict(films, verbose=0), rtol=0, atol=1e-6
    )
    expected = classifier.evaluate(films, labels, verbose=0)
    assert found["scores"] == pytest.approx(expected, abs=1e-5)
    assert [[tuple(pair) for pair in row] for row in found["tags"]] == tagger.tag(TEXTS)
    assert [[Entity(*e) for e in row] for row in found["entities"]] == tagger.entities(TEXTS)
    np.testing.assert_allclose(found["texts"], tagger.predict(TEXTS, verbose=0), rtol=0, atol=1e-6)


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
    tags = [["a", "b"] * 9 for _ in FILMS]
    tags = [row[: len(text.split())] for row, text in zip(tags, FILMS, strict=True)]
    arguments = [str(one_layer_folder), *map(json.dumps, (FILMS, LABELS, tags))]
    two, one, of_tagger = run(DISTRIBUTED, *arguments)
    np.testing.assert_allclose(two, one, rtol=1e-3)
    assert of_tagger[1] < of_tagger[0]


def test_they_are_layers_of_functional_models(trained_classifier, trained_tagger):
    for shape in ((), (None,)):  # raw strings, and tokens
        inputs = keras.Input(shape, dtype="string")
        assert trained_classifier(inputs).shape == (None, 2)
        tags = trained_tagger(inputs)
        assert tags.shape == (None, None, *trained_tagger.head.output.shape[2:])
        assert tags._keras_mask.shape == (None, None)
