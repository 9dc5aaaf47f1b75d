"""Models in every form that Keras has, and a program that loads them in a fresh process.

    python keras_forms.py FOLDER

reads what `test_keras_forms.save` wrote into the folders of this folder, and prints as JSON what is
wrong with each.
"""

import json
import pathlib
import sys
import warnings

import keras
import numpy as np
import tensorflow as tf
from keras.layers import Dense
from layers.cases import CASES
from layers.cases import functional as functional_layer

import keras_elmo
from keras_elmo import CRF, BiLM, CharCNNEmbedding, ElmoEmbedding, ScalarMix
from keras_elmo.process.traced_function import TracedFunction

TEXTS = ["a good film", "bad , bad film .", "so good"]
TOKENS = [text.split() for text in TEXTS]
NUMBERS = tf.constant([[0.5, -1.0], [2.0, 0.25], [0.0, 1.0]])
IDS = np.random.default_rng(0).integers(1, 262, (3, 4, 12)).astype(np.int32)
IDS[0, 2:] = 0  # padding
IDS = tf.constant(IDS)


def registered(cls):
    return keras.saving.register_keras_serializable("forms")(cls)


class Holder(keras.Model):
    """A subclassed model that holds a layer, or a model, and has others above it."""

    def __init__(self, held, **kwargs):
        super().__init__(**kwargs)
        if isinstance(held, dict):
            held = keras.saving.deserialize_keras_object(held)
        self.held = held
        self.make_layers()

    def make_layers(self):
        self.head = Dense(2)

    def get_config(self):
        return {**super().get_config(), "held": keras.saving.serialize_keras_object(self.held)}


@registered
class OneLayerAbove(Holder):
    def call(self, inputs):
        return self.head(self.held(inputs))


@registered
class SeveralLayersAbove(Holder):
    def make_layers(self):
        self.hidden = Dense(4, activation="tanh")
        self.lstm = keras.layers.Bidirectional(keras.layers.LSTM(3))
        self.head = Dense(2)

    def call(self, inputs, training=False):
        outputs = self.hidden(self.held(inputs, training=training))
        return self.head(self.lstm(outputs))


@registered
class HoldsElmo(Holder):
    def call(self, inputs):
        outputs = self.held(inputs)
        return self.head(keras.ops.max(outputs["elmo"], axis=1) + outputs["default"])


@registered
class TwoInputs(Holder):
    """Takes a dict, or a list."""

    def call(self, inputs):
        text, numbers = inputs.values() if isinstance(inputs, dict) else inputs
        return self.head(keras.ops.concatenate([self.held(text), numbers], axis=-1))


@registered
class TwoArguments(Holder):
    # Without this method Keras remembers the shape of the first argument alone.
    def build(self, text_shape, numbers_shape):
        width = self.held.compute_output_shape(text_shape)[-1] + numbers_shape[-1]
        self.head.build((None, width))

    def call(self, text, numbers):
        return self.head(keras.ops.concatenate([self.held(text), numbers], axis=-1))


@registered
class FromIds(Holder):
    """The numeric layers, on character ids."""

    def make_layers(self):
        self.bilm = BiLM(8, 6, num_layers=1)
        self.mix = ScalarMix()
        self.head = Dense(2)
        self.crf = CRF("glorot_uniform")

    def call(self, ids):
        return self.crf(self.head(self.mix(self.bilm(self.held(ids)))))


def texts():
    return keras_elmo.strings(TEXTS)


def tokens():
    return keras_elmo.strings(TOKENS).to_tensor("")


def text_input(**kwargs):
    return keras.Input((), dtype="string", **kwargs)


def functional(embedding):
    inputs = [text_input(name="text"), keras.Input((2,), name="numbers")]
    outputs = keras.layers.Concatenate()([embedding(inputs[0]), inputs[1]])
    hidden = Dense(3, activation="relu")(outputs)
    return keras.Model(inputs, [Dense(1)(hidden), Dense(2)(hidden)])


def on_one_input(layer):
    inputs = text_input()
    return keras.Model(inputs, Dense(3)(layer(inputs)))


def mean(elmo):
    return ElmoEmbedding(elmo, output="default")


def both():
    return {"text": texts(), "numbers": NUMBERS}


# Each form: a function that makes the model, of an `Elmo` and of one without a tokenizer, and a
# function that makes what the model is called on.
FORMS = {
    "Sequential without Input": (lambda elmo, _: keras.Sequential([mean(elmo), Dense(2)]), texts),
    "tagger without Input": (
        lambda _, elmo: keras.Sequential([ElmoEmbedding(elmo), Dense(3), CRF("glorot_uniform")]),
        tokens,
    ),
    "functional": (lambda elmo, _: functional(mean(elmo)), lambda: [texts(), NUMBERS]),
    "several layers above": (lambda elmo, _: SeveralLayersAbove(ElmoEmbedding(elmo)), texts),
    "several outputs": (
        lambda elmo, _: keras.Sequential(
            [text_input(), ElmoEmbedding(elmo, [0, 1], 0.5), ScalarMix(), keras.layers.LSTM(2)]
        ),
        texts,
    ),
    "ragged tokens": (
        lambda elmo, _: SeveralLayersAbove(ElmoEmbedding(elmo)),
        lambda: keras_elmo.strings(TOKENS),
    ),
    "Elmo": (lambda elmo, _: HoldsElmo(elmo), texts),
    "dict of inputs": (lambda elmo, _: TwoInputs(mean(elmo)), both),
    "several arguments": (lambda elmo, _: TwoArguments(mean(elmo)), both),
    "functional in subclassed": (lambda elmo, _: OneLayerAbove(on_one_input(mean(elmo))), texts),
    "subclassed in functional, in mixed precision": (
        lambda elmo, _: on_one_input(OneLayerAbove(mean(elmo), dtype="mixed_bfloat16")),
        texts,
    ),
    "numeric layers, subclassed": (
        lambda *_: FromIds(CharCNNEmbedding([(1, 3), (2, 4)], 5, 1, 6)),
        lambda: IDS,
    ),
}

# The same for each public layer by itself.
LAYERS = {
    name: (lambda *_, make=make, data=data: functional_layer(make(), data), lambda data=data: data)
    for name, (make, data) in CASES.items()
}


def call(model, inputs):
    """The model's outputs as a list of arrays."""
    return arrays_of(model(**inputs) if isinstance(model, TwoArguments) else model(inputs))


def arrays_of(outputs):
    return [np.asarray(output, np.float32) for output in keras.tree.flatten(outputs)]


def faults(folder):
    """What is wrong with the files of a form in a fresh process."""
    inputs = (FORMS | LAYERS)[folder.name][1]()
    with np.load(folder / "outputs.npz") as arrays:
        expected = list(arrays.values())

    def from_json_and_weights():
        model = keras.models.model_from_json((folder / "model.json").read_text())
        model.load_weights(folder / "model.weights.h5")
        return call(model, inputs)

    def exported():
        import tensorflow_text  # noqa: F401 (the graph has its operation)

        loaded = tf.saved_model.load(str(folder / "exported"))
        arguments = inputs.values() if folder.name == "several arguments" else [inputs]
        return arrays_of(loaded.serve(*arguments))

    ways = {
        "model.keras": lambda: call(keras.models.load_model(folder / "model.keras"), inputs),
        "model.weights.h5": from_json_and_weights,
        "exported": exported,
    }
    for way, load in ways.items():
        if not (folder / way).exists():
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            found = load()
        yield from (f"{way}: {w.message}" for w in caught if w.category is UserWarning)
        difference = max(np.abs(a - b).max() for a, b in zip(found, expected, strict=True))
        if not difference <= 1e-6:
            yield f"{way}: differs by {difference}"


if __name__ == "__main__":
    TracedFunction.__call__ = TracedFunction.run_untraced  # see conftest, as the following
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    folders = sorted(pathlib.Path(sys.argv[1]).iterdir())
    print(json.dumps({folder.name: list(faults(folder)) for folder in folders}))
