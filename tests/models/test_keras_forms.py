"""Every form of a Keras model with layers of ours, built, saved and loaded in every way."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from models import keras_forms
from models.keras_forms import FORMS, LAYERS, TEXTS
from scripts import run_python

from keras_elmo import Elmo, ElmoEmbedding, strings

pytestmark = pytest.mark.usefixtures("untraced_module")

# One of each kind: the others differ in one thing from one of these.
QUICK = [
    "Sequential without Input",
    "functional in subclassed",
    "several outputs",
    "several arguments",
    "numeric layers, subclassed",
]
QUICK_IN_ALL_WAYS = QUICK[:2] + list(LAYERS)  # of the others only the ".keras" file is loaded
QUICK += LAYERS
SLOW = [name for name in FORMS if name not in QUICK_IN_ALL_WAYS]


@pytest.fixture(scope="module")
def elmos(one_layer_folder):
    return [Elmo.from_pretrained(one_layer_folder, tokenizer=t) for t in ("whitespace", None)]


@pytest.fixture(scope="module")
def models(elmos):
    """A form's model, with random weights, and its inputs and outputs."""
    made = {}

    def model_of(name):
        if name not in made:
            make, inputs = (FORMS | LAYERS)[name]
            model, inputs = make(*elmos), inputs()
            made[name] = model, inputs, keras_forms.call(model, inputs)
        return made[name]

    return model_of


def signature_of(model, inputs):
    """What `Model.export` must be told of a subclassed model."""
    if hasattr(model, "inputs"):
        return None
    specs = keras.tree.map_structure(tf.type_spec_from_value, inputs)
    return list(specs.values()) if isinstance(model, keras_forms.TwoArguments) else [specs]


def save(model, inputs, outputs, folder, in_all_ways):
    folder.mkdir()
    model.save(folder / "model.keras")
    np.savez(folder / "outputs.npz", *outputs)
    if not in_all_ways:
        return
    model.save_weights(folder / "model.weights.h5")
    (folder / "model.json").write_text(model.to_json())
    if not isinstance(inputs, tf.RaggedTensor):  # Keras exports no model of these
        signature = signature_of(model, inputs)
        model.export(folder / "exported", verbose=False, input_signature=signature)


@pytest.mark.parametrize(
    "names, in_all_ways",
    [(QUICK, QUICK_IN_ALL_WAYS), pytest.param(SLOW, SLOW, marks=pytest.mark.slow)],
    ids=["quick", "more"],
)
def test_files_in_a_fresh_process(names, in_all_ways, models, tmp_path):
    for name in names:
        save(*models(name), tmp_path / name, name in in_all_ways)
    result = run_python(keras_forms.__file__, tmp_path)
    assert result.returncode == 0, result.stderr[-3000:]
    assert json.loads(result.stdout) == {name: [] for name in names}


@pytest.mark.parametrize("name", ["Sequential without Input", "numeric layers, subclassed"])
def test_copies(name, models):
    model, inputs, expected = models(name)
    for copy in (keras.models.clone_model(model), type(model).from_config(model.get_config())):
        keras_forms.call(copy, inputs)  # makes the weights
        copy.set_weights(model.get_weights())
        for one, other in zip(keras_forms.call(copy, inputs), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


LABELS = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def test_numbers_are_refused_all_the_same(elmos):
    layer = ElmoEmbedding(elmos[0], output="default")
    floats = np.ones((3, 2), np.float32)
    message = "must be .*strings.*Received: .*float32"
    subclassed = keras_forms.OneLayerAbove(layer)
    for call in (layer, tf.function(layer), elmos[0], tf.function(elmos[0]), subclassed):
        with pytest.raises(TypeError, match=message):
            call(tf.constant(floats))
    with pytest.raises(TypeError, match=message):
        layer(keras.Input((2,)))
    subclassed.compile("sgd", "mse")
    with pytest.raises(TypeError, match=message):
        subclassed.fit(floats, LABELS, verbose=0)
    subclassed(strings(TEXTS))
    with pytest.raises(TypeError, match=r"input_signature=\[tf.TensorSpec.*Received.*float32"):
        subclassed.export("never", verbose=False)


def test_a_layer_says_that_it_takes_strings(elmos):
    layer = ElmoEmbedding(elmos[0], dtype="mixed_bfloat16")
    assert layer.compute_dtype == layer.variable_dtype == layer.input_dtype == "string"
    assert ElmoEmbedding.from_config(layer.get_config()).dtype_policy.name == "mixed_bfloat16"


@pytest.mark.parametrize(
    "output, of_text, of_tokens",
    [
        ("elmo", (None, None, 16), (2, 5, 16)),
        ("default", (None, 16), (2, 16)),
        ("all", (None, 2, None, 16), (2, 2, 5, 16)),
        (["top", 0], [(None, None, 16)] * 2, [(2, 5, 16)] * 2),
    ],
)
def test_the_shape_of_an_output_is_known_from_that_of_the_input(elmos, output, of_text, of_tokens):
    with_tokenizer, without = (ElmoEmbedding(elmo, output=output) for elmo in elmos)
    assert with_tokenizer.compute_output_shape((None,)) == of_text
    assert without.compute_output_shape((2, 5)) == of_tokens


@pytest.mark.parametrize("layer", ["Elmo", "ElmoEmbedding"])
def test_joined_with_an_embedding(layer, elmos):
    """`Concatenate` takes the masks of its symbolic inputs while the model is made."""
    tokens, (_, elmo) = keras.Input((None,), dtype="string"), elmos
    vectors = elmo(tokens)["elmo"] if layer == "Elmo" else ElmoEmbedding(elmo)(tokens)
    numbers = keras.layers.StringLookup(vocabulary=["a", "b"], mask_token="")(tokens)
    x = keras.layers.concatenate([vectors, keras.layers.Embedding(4, 3, mask_zero=True)(numbers)])
    x = keras.layers.Bidirectional(keras.layers.SimpleRNN(2, return_sequences=True))(x)
    model = keras.Model(tokens, x)
    together = model(tf.constant([["a", "b", "c"], ["b", "", ""]]))
    np.testing.assert_allclose(together[1:, :1], model(tf.constant([["b"]])), atol=1e-6)
    np.testing.assert_array_equal(together._keras_mask, [[True] * 3, [True, False, False]])
