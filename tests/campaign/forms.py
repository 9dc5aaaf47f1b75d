"""Random Keras models with an `ElmoEmbedding`: trained, cloned, saved, loaded in a new process."""

import json
import os
import pathlib
import subprocess
import sys
import traceback

import keras
import numpy as np
import tensorflow as tf
from campaign.case import TESTS, Finding
from golden.test_reference import random_config, random_model, random_sentences

from keras_elmo import CRF, CRFLoss, ElmoEmbedding, strings

_FORMS = ["sequential", "no input", "functional", "subclass", "nested", "shared", "two", "tagger"]
_SECONDS = 250  # of the new process


@keras.saving.register_keras_serializable("campaign")
class Subclass(keras.Model):
    """A model that is not functional."""

    def __init__(self, elmo, **kwargs):
        super().__init__(**kwargs)
        is_config = isinstance(elmo, dict)
        self.elmo = keras.saving.deserialize_keras_object(elmo) if is_config else elmo
        self.hidden, self.head = keras.layers.Dense(5, "tanh"), keras.layers.Dense(2)

    def call(self, inputs):
        return self.head(self.hidden(_pooled(self.elmo, self.elmo(inputs))))

    def get_config(self):
        elmo = keras.saving.serialize_keras_object(self.elmo)
        return {**super().get_config(), "elmo": elmo}


def _pooled(layer, vectors):
    return vectors if layer.output_name == "default" else vectors[:, 0]


def make_model(form, settings, folder):
    """A model of a form; its `ElmoEmbedding`s have the weights of a folder."""
    layer = ElmoEmbedding(str(folder), **settings)
    shape = (None,) if settings["tokenizer"] is None else ()
    inputs, layers = keras.Input(shape, dtype="string"), keras.layers
    head = layers.Dense(2, dtype="float32")
    pool = [] if settings["output"] == "default" else [layers.GlobalAveragePooling1D()]
    if form == "sequential":
        return keras.Sequential([inputs, layer, *pool, head])
    if form == "no input":
        return keras.Sequential([layer, *pool, head])
    if form == "subclass":
        return Subclass(layer)
    if form == "tagger":
        return keras.Sequential([inputs, layer, layers.Dense(2), CRF()])

    def sentence(layer, inputs):
        return pool[0](layer(inputs)) if pool else layer(inputs)

    if form == "functional":
        return keras.Model(inputs, head(sentence(layer, inputs)))
    if form == "nested":
        inner = keras.Model(inputs, sentence(layer, inputs))
        outer = keras.Input(shape, dtype="string")
        return keras.Model(outer, head(inner(outer)))
    others = keras.Input(shape, dtype="string")
    second = layer if form == "shared" else ElmoEmbedding(str(folder), **settings)
    both = layers.Concatenate()([sentence(layer, inputs), sentence(second, others)])
    return keras.Model([inputs, others], head(both))


def run(seed, folder):
    rng = np.random.default_rng(seed)
    keras.utils.set_random_seed(seed % 2**31)
    form = _FORMS[rng.integers(len(_FORMS))]
    settings = {
        "output": "elmo" if form == "tagger" else ["elmo", "default", "word_emb"][rng.integers(3)],
        "tokenizer": [None, "whitespace", "treebank"][0 if form == "tagger" else rng.integers(3)],
        "dropout": float(rng.choice([0.0, 0.3])),
        "trainable_part": ["mix", "bilm", "all"][rng.integers(3)],
        "do_layer_norm": bool(rng.random() < 0.2),
        "dtype": ["float32", "float32", "mixed_bfloat16"][rng.integers(3)],
    }
    random_model(random_config(rng), rng, folder / "model")
    # A mean of no tokens is NaN in Keras.
    sentences = [[word for word in s if word] or ["a"] for s in random_sentences(rng)]
    if settings["tokenizer"] is None:
        texts = strings(sentences).to_tensor()
    else:
        texts = strings([" ".join(words) for words in sentences])
    inputs = [texts, texts[::-1]] if form in ("shared", "two") else texts
    rows, columns = len(sentences), max(map(len, sentences))
    labels = rng.integers(0, 2, (rows, columns) if form == "tagger" else (rows,))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    step = "made"
    try:
        model = make_model(form, settings, folder / "model")
        step = "trained"
        model.compile("adam", CRFLoss() if form == "tagger" else loss)
        model.fit(inputs, labels, batch_size=2, epochs=2, verbose=0)
        step = "called"
        expected = np.asarray(model(inputs))
        if not np.isfinite(expected).all():
            raise ValueError(f"the outputs are {expected}")
        problems = _copies(model, form, inputs, expected)
        step = "saved"
        model.save(folder / "model.keras")
        model.save_weights(folder / "model.weights.h5")
        step = "exported"
        signature = {}
        if form == "subclass":  # Keras takes its inputs for numbers, and the error says so
            signature["input_signature"] = [tf.TensorSpec([None] * texts.shape.rank, tf.string)]
        model.export(str(folder / "exported"), verbose=False, **signature)
    except Exception as error:
        raise Finding(
            f"expected: {form} with {settings} can be {step}\n{traceback.format_exc()[-2500:]}"
        ) from error
    np.save(folder / "expected.npy", expected)
    case = {"form": form, "settings": settings, "is_pair": isinstance(inputs, list)}
    (folder / "case.json").write_text(json.dumps(case))
    tf.io.write_file(str(folder / "texts"), tf.io.serialize_tensor(texts))
    problems += _in_a_new_process(folder)
    if problems:
        found = "\n".join(problems)
        raise Finding(f"expected: {form} with {settings} gives the same outputs\nreceived: {found}")


def _copies(model, form, inputs, expected):
    """What is wrong with copies of a model in the same process."""
    ways = {"from_config": lambda: type(model).from_config(model.get_config())}
    if form != "subclass":
        ways["clone_model"] = lambda: keras.models.clone_model(model)
        ways["model_from_json"] = lambda: keras.models.model_from_json(model.to_json())

    def outputs_of(make):
        copy = make()
        if not copy.built:
            copy(inputs)
        copy.set_weights(model.get_weights())
        return copy(inputs)

    return _differences(
        {name: lambda make=make: outputs_of(make) for name, make in ways.items()}, expected
    )


def _differences(ways, expected):
    problems = []
    for name, outputs in ways.items():
        try:
            received = np.asarray(outputs(), np.float32)
        except Exception:
            problems.append(f"{name}: {traceback.format_exc()[-1500:]}")
            continue
        # XLA and bfloat16 round otherwise; another model is far away.
        is_same = received.shape == expected.shape
        if not (is_same and np.allclose(received, expected, rtol=1e-3, atol=1e-3)):
            worst = np.abs(received - expected).max() if is_same else received.shape
            problems.append(f"{name}: outputs that differ by {worst}")
    return problems


def _in_a_new_process(folder):
    code = f"from campaign.forms import compare; compare({str(folder)!r})"
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    if result.returncode:
        return [f"a new process: {result.returncode}, {result.stderr[-2500:]}"]
    return json.loads(result.stdout.splitlines()[-1])


def compare(folder):
    """Prints what is wrong with the files of a case, in a new process."""
    folder = pathlib.Path(folder)
    case = json.loads((folder / "case.json").read_text())
    expected = np.load(folder / "expected.npy")
    texts = tf.io.parse_tensor(tf.io.read_file(str(folder / "texts")), tf.string)
    inputs = [texts, texts[::-1]] if case["is_pair"] else texts

    def exported():
        loaded = tf.saved_model.load(str(folder / "exported"))
        return loaded.serve(inputs)

    def weights():
        model = make_model(case["form"], case["settings"], folder / "model")
        model(inputs)
        model.load_weights(folder / "model.weights.h5")
        return model(inputs)

    ways = {
        ".keras": lambda: keras.models.load_model(folder / "model.keras")(inputs),
        ".weights.h5": weights,
        "export": exported,
    }
    print(json.dumps(_differences(ways, expected)))
