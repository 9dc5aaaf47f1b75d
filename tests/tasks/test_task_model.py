"""What classifiers and taggers have in common: their files, and devices."""

import json

import keras
import numpy as np
import pytest
from scripts import run_python
from tasks.cases import FILMS, LABELS, TEXTS

FRESH = """
import json, sys, keras, numpy as np, tensorflow as tf
cpu, = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
import keras_elmo
given = json.load(sys.stdin)
classifier, tagger = map(keras.models.load_model, given["paths"])
films, texts = given["films to label"], given["texts to tag"]
results = {
    "classes": classifier.classify(films),
    "films": classifier.predict(films, verbose=0).tolist(),
    "tags": tagger.tag(texts),
    "entities": tagger.entities(texts),
    "texts": tagger.predict(texts, verbose=0).tolist(),
    "losses": {},
}
texts, labels, tags = given["distributed"]
for name, devices in {"two": ["CPU:0", "CPU:1"], "one": ["CPU:0"]}.items():
    with tf.distribute.MirroredStrategy(devices).scope():
        keras.utils.set_random_seed(0)
        model = keras_elmo.TextClassifier(given["folder"], labels, filters=2, dropout=0.0)
        model.compile(keras.optimizers.SGD(0.1))
        if name == "two":
            tagger = keras_elmo.Tagger(given["folder"], tags, units=2, layers="elmo", dropout=0.0)
            assert tagger.trainable_part == "mix"  # so that the Elmo is on each device
            tagger.compile(keras.optimizers.Adam(0.03))
    options = {"validation_data": (texts, labels), "shuffle": False, "verbose": 0}
    history = model.fit(texts, labels, batch_size=8, epochs=2, **options).history
    results["losses"][name] = history["loss"] + history["val_loss"]
history = tagger.fit(texts, tags, batch_size=8, epochs=2, verbose=0).history
results["losses"]["tagger"] = history["loss"]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def found(trained_classifier, trained_tagger, one_layer_folder, tmp_path_factory):
    """What a fresh program says of saved models, with the texts; and how it trains on devices."""
    folder = tmp_path_factory.mktemp("saved")
    paths = [str(folder / name) for name in ("classifier.keras", "tagger.keras")]
    trained_classifier.save(paths[0])
    trained_tagger.save(paths[1])
    films = [*FILMS, "I met \u0130pek"]  # which Turkish lowers in its own way
    tags = [(["a", "b"] * 9)[: len(text.split())] for text in FILMS]
    given = {
        "paths": paths,
        "films to label": films,
        "texts to tag": TEXTS,
        "folder": str(one_layer_folder),
        "distributed": [FILMS, LABELS, tags],
    }
    result = run_python("-c", FRESH, input=json.dumps(given), env={"LC_ALL": "tr_TR.UTF-8"})
    assert result.returncode == 0, result.stderr
    return given | json.loads(result.stdout.splitlines()[-1])


def test_a_fresh_program_loads_them(trained_classifier, trained_tagger, found):
    classifier, tagger, films = trained_classifier, trained_tagger, found["films to label"]
    assert found["classes"] == classifier.classify(films)
    expected = classifier.predict(films, verbose=0)
    np.testing.assert_allclose(found["films"], expected, rtol=0, atol=1e-6)
    assert [[tuple(pair) for pair in row] for row in found["tags"]] == tagger.tag(TEXTS)
    for row, right in zip(found["entities"], tagger.entities(TEXTS), strict=True):
        assert [entity[:4] for entity in row] == [list(entity[:4]) for entity in right]
    np.testing.assert_allclose(found["texts"], tagger.predict(TEXTS, verbose=0), rtol=0, atol=1e-6)


def test_two_devices_train_as_one_does(found):
    losses = found["losses"]
    np.testing.assert_allclose(losses["two"], losses["one"], rtol=1e-3)
    assert losses["tagger"][1] < losses["tagger"][0]


def test_they_are_layers_of_functional_models(trained_classifier, trained_tagger):
    for shape in ((), (None,)):  # raw strings, and tokens
        inputs = keras.Input(shape, dtype="string")
        assert trained_classifier(inputs).shape == (None, 2)
        tags = trained_tagger(inputs)
        assert tags.shape == (None, None, *trained_tagger.head.output.shape[2:])
        assert tags._keras_mask.shape == (None, None)
