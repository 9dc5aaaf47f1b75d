"""Every public layer: config, eager = symbolic = tf.function, gradients, mixed precision, files."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import BiLM, CharCNNEmbedding, Highway, MaskedMean, ScalarMix

IDS = np.random.default_rng(0).integers(1, 262, (2, 4, 12)).astype(np.int32)
IDS[0, 3] = 0  # padding
FLOATS = np.random.default_rng(1).normal(size=(2, 4, 6)).astype(np.float32)
LAYERS = [FLOATS, np.tanh(FLOATS[::-1]), np.exp(FLOATS)]

CASES = {
    "CharCNNEmbedding": (
        lambda **k: CharCNNEmbedding([(1, 3), (2, 4)], 5, 1, 6, "tanh", **k),
        IDS,
    ),
    "Highway": (lambda **k: Highway("tanh", **k), FLOATS),
    "BiLM": (lambda **k: BiLM(8, 6, 3, 0.5, 0.4, **k), FLOATS),
    "BiLM rnn": (lambda **k: BiLM(8, 6, use_skip_connections=False, loop="rnn", **k), FLOATS),
    "ScalarMix": (
        lambda **k: ScalarMix(True, [0.1, 0.2, 0.3], keras.regularizers.L2(0.1), **k),
        LAYERS,
    ),
    "MaskedMean": (lambda **k: MaskedMean(**k), FLOATS),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def flat(outputs):
    return [np.asarray(output) for output in tf.nest.flatten(outputs)]


def assert_close(results, expected, atol=1e-6):
    for one, other in zip(flat(results), flat(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


def functional(layer, data):
    inputs = tf.nest.map_structure(
        lambda x: keras.Input((None, *x.shape[2:]), dtype=x.dtype.name), data
    )
    return keras.Model(inputs, layer(inputs))


def test_config_round_trip(case):
    make, data = case
    layer = make(name="named")
    expected = layer(data)
    clone = type(layer).from_config(json.loads(json.dumps(layer.get_config())))
    assert clone.get_config() == layer.get_config() and clone.name == "named"
    clone(data)
    clone.set_weights(layer.get_weights())
    assert_close(clone(data), expected)


def test_eager_symbolic_and_graph_agree(case):
    make, data = case
    layer = make()
    expected = layer(data)
    assert_close(tf.function(layer)(data), expected)
    model = functional(layer, data)
    assert_close(model(data), expected)
    assert [tuple(o.shape[2:]) for o in tf.nest.flatten(model.outputs)] == [
        o.shape[2:] for o in flat(expected)
    ]


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_training(case, run_eagerly):
    make, data = case
    layer = make()
    model = functional(layer, data)
    targets = tf.nest.map_structure(lambda x: np.asarray(x) + 1, model(data))
    model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=run_eagerly)
    before = layer.get_weights()
    losses = model.fit(data, targets, epochs=5, verbose=0).history["loss"]
    if before:
        assert losses[-1] < losses[0]
        assert all(
            np.any(one != other) for one, other in zip(before, layer.get_weights(), strict=True)
        )
    evaluated = model.evaluate(data, targets, verbose=0)
    assert np.ravel(evaluated)[0] <= losses[-1] + 1e-6
    for one, other in zip(flat(model.predict(data, verbose=0)), flat(model(data)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


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


def test_files_in_a_fresh_process(case, tmp_path):
    make, data = case
    model = functional(make(), data)
    expected = flat(model(data))
    model.save(tmp_path / "model.keras")
    module = tf.Module()
    module.model = model
    specs = tf.nest.map_structure(
        lambda x: tf.TensorSpec((None, None, *x.shape[2:]), x.dtype), data
    )
    # The result of `list` structures travels as a dict of outputs.
    module.call = tf.function(
        lambda x: {str(i): o for i, o in enumerate(tf.nest.flatten(model(x)))},
        input_signature=[specs],
    )
    tf.saved_model.save(module, tmp_path / "saved")
    arrays = tf.nest.flatten(data)
    np.savez(tmp_path / "arrays.npz", *arrays, **{f"out{i}": o for i, o in enumerate(expected)})
    code = f"""
import numpy as np, keras, keras_elmo, tensorflow as tf
arrays = np.load({str(tmp_path / "arrays.npz")!r})
data = [arrays[f"arr_{{i}}"] for i in range({len(arrays)})]
data = data if {isinstance(data, list)} else data[0]
model = keras.models.load_model({str(tmp_path / "model.keras")!r})
saved = tf.saved_model.load({str(tmp_path / "saved")!r})
kept = {{int(k): v for k, v in saved.call(data).items()}}
for i, output in enumerate(tf.nest.flatten(model(data))):
    np.testing.assert_allclose(output, arrays[f"out{{i}}"], atol=1e-6)
    np.testing.assert_allclose(kept[i], arrays[f"out{{i}}"], atol=1e-6)
print("same", i + 1)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.strip() == f"same {len(expected)}", result.stderr


def test_masks_reach_the_next_layers():
    ids = keras.Input((None, 12), dtype="int32")
    tokens = CASES["CharCNNEmbedding"][0]()(ids)
    mixed = ScalarMix()(BiLM(8, 6)(tokens))
    model = keras.Model(ids, [mixed, MaskedMean()(mixed)])
    mixed_values, mean = model(IDS)
    np.testing.assert_allclose(mean[0], np.mean(mixed_values[0, :3], axis=0), atol=1e-6)
    assert not np.any(mixed_values[0, 3])
