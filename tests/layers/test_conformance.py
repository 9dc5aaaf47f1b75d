"""Every public layer: config, eager = symbolic = tf.function, gradients, mixed precision.

tests/models/test_keras_forms.py loads their files in a fresh process.
"""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf
from layers.cases import CASES, IDS, functional

from keras_elmo import BiLM, MaskedMean, ScalarMix

pytestmark = pytest.mark.usefixtures("untraced_module")


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def flat(outputs):
    return [np.asarray(output) for output in tf.nest.flatten(outputs)]


def assert_close(results, expected, atol=1e-6):
    for one, other in zip(flat(results), flat(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


def test_config_round_trip(case):
    make, data = case
    layer = make(name="named")
    expected = layer(data)
    clone = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    assert clone.get_config() == layer.get_config() and clone.name == "named"
    clone(data)
    clone.set_weights(layer.get_weights())
    assert_close(clone(data), expected)


def test_a_layer_of_a_user_keeps_the_arguments_of_ours():
    class WithBias(ScalarMix):
        def __init__(self, bias=0.0, **kwargs):
            super().__init__(**kwargs)
            self._bias = bias

        def get_config(self):
            return {**super().get_config(), "bias": self._bias}

    config = WithBias(2.0, do_layer_norm=True, initial_scalars=[1.0, 2.0]).get_config()
    copy = WithBias.from_config(config)
    assert copy.do_layer_norm and copy.get_config() == config


def test_eager_symbolic_and_graph_agree(case):
    make, data = case
    layer = make()
    expected = layer(data)
    assert_close(tf.function(layer)(data), expected)
    model = functional(layer, data)
    assert_close(model(data), expected)
    for output, value in zip(tf.nest.flatten(model.outputs), flat(expected), strict=True):
        assert output.shape[2:] == value.shape[2:]


def test_training(case):
    make, data = case
    layer = make()
    model = functional(layer, data)
    # Keras's loop runs without a graph, which takes seconds to trace.
    run_eagerly = getattr(layer, "loop", None) == "rnn"
    model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=run_eagerly)
    targets = tf.nest.map_structure(lambda x: x + 1, model(data))
    before = layer.get_weights()
    losses = model.fit(data, targets, epochs=2, verbose=0).history["loss"]
    if before:
        assert losses[-1] < losses[0]
    for one, other in zip(before, layer.get_weights(), strict=True):
        assert np.any(one != other)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(case, policy):
    make, data = case
    layer, mixed = make(), make(dtype=policy)
    expected = layer(data)
    mixed(data)
    mixed.set_weights(layer.get_weights())
    results = tf.nest.flatten(mixed(data))
    assert all(result.dtype.name == policy.removeprefix("mixed_") for result in results)
    assert all(variable.dtype == "float32" for variable in mixed.weights)
    assert_close([tf.cast(result, "float32") for result in results], flat(expected), atol=0.08)


def test_masks_reach_the_next_layers():
    ids = keras.Input((None, 12), dtype="int32")
    tokens = CASES["CharCNNEmbedding"][0]()(ids)
    mixed = ScalarMix()(BiLM(8, 6)(tokens))
    mixed_values, mean = keras.Model(ids, [mixed, MaskedMean()(mixed)])(IDS)
    np.testing.assert_allclose(mean[0], np.mean(mixed_values[0, :3], axis=0), atol=1e-6)
    assert not np.any(mixed_values[0, 3])
