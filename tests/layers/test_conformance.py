"""Every public layer: config, eager = symbolic = tf.function, gradients, mixed precision, files."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import BiLM, CharCNNEmbedding, Highway, MaskedMean, ScalarMix

pytestmark = pytest.mark.usefixtures("untraced_module")

IDS = np.random.default_rng(0).integers(1, 262, (2, 4, 12)).astype(np.int32)
IDS[0, 3] = 0  # padding
FLOATS = np.random.default_rng(1).normal(size=(2, 4, 6)).astype(np.float32)
LAYERS = [FLOATS, np.tanh(FLOATS[::-1]), np.exp(FLOATS)]

CASES = {
    "CharCNNEmbedding": (
        lambda **k: CharCNNEmbedding([(1, 3), (2, 4)], 5, 1, 6, "tanh", **k),
        IDS,
    ),
    "CharCNNEmbedding with words": (
        lambda **k: CharCNNEmbedding([(1, 3)], 5, 0, 6, "relu", num_words=261, word_dim=2, **k),
        IDS,
    ),
    "Highway": (lambda **k: Highway("tanh", **k), FLOATS),
    "BiLM": (lambda **k: BiLM(8, 6, 1, 0.5, 0.4, **k), FLOATS),
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


# Eagerly, `BiLM` runs the same graphs as in other tests, and Keras's loop runs without one.
SLOW = {("BiLM", True), ("BiLM rnn", False)}
TRAINING = [
    pytest.param(name, run_eagerly, marks=[pytest.mark.slow] * ((name, run_eagerly) in SLOW))
    for name in CASES
    for run_eagerly in (False, True)
]


@pytest.mark.parametrize("name, run_eagerly", TRAINING)
def test_training(name, run_eagerly):
    make, data = CASES[name]
    layer = make()
    model = functional(layer, data)
    model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=run_eagerly)
    targets = tf.nest.map_structure(lambda x: x + 1, model.predict(data, verbose=0))
    before = layer.get_weights()
    losses = model.fit(data, targets, epochs=5, verbose=0).history["loss"]
    if before:
        assert losses[-1] < losses[0]
        assert all(
            np.any(one != other) for one, other in zip(before, layer.get_weights(), strict=True)
        )
    evaluated = np.ravel(model.evaluate(data, targets, verbose=0))[0]
    assert evaluated <= losses[-1] + 1e-6
    assert_close(model.predict(data, verbose=0), model(data))


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


IN_A_FRESH_PROCESS = """
import json, pathlib, sys
import keras, keras_elmo, numpy as np, tensorflow as tf
from keras_elmo.traced_function import TracedFunction

TracedFunction.__call__ = TracedFunction.run_untraced

def compare(folder):
    arrays = dict(np.load(folder / "arrays.npz"))
    inputs = [arrays[name] for name in sorted(arrays) if name.startswith("input")]
    expected = [arrays[name] for name in sorted(arrays) if name.startswith("output")]
    data = inputs if (folder / "is_list").exists() else inputs[0]
    outputs = tf.nest.flatten(keras.models.load_model(folder / "model.keras")(data))
    saved_model = tf.saved_model.load(str(folder / "saved"))
    exported = saved_model.call(data)
    exported = [exported[name] for name in sorted(exported)]
    for other in (outputs, exported):
        assert len(other) == len(expected)
        for one, two in zip(other, expected):
            np.testing.assert_allclose(one, two, atol=1e-6)
    return f"same {len(expected)}"

results = {}
for folder in pathlib.Path(sys.argv[1]).iterdir():
    try:
        results[folder.name] = compare(folder)
    except Exception as error:
        results[folder.name] = repr(error)
print(json.dumps(results))
"""


def save_in_every_format(model, data, folder):
    """Saves a model as `.keras` and as a SavedModel, and what goes in and comes out."""
    folder.mkdir()
    model.save(folder / "model.keras")
    module = tf.Module()
    module.model = model
    specs = tf.nest.map_structure(
        lambda x: tf.TensorSpec((None, None, *x.shape[2:]), x.dtype), data
    )
    # A SavedModel gives lists of outputs back as a dict in any case.
    module.call = tf.function(
        lambda x: {f"output{k}": output for k, output in enumerate(tf.nest.flatten(model(x)))},
        input_signature=[specs],
        autograph=False,
    )
    tf.saved_model.save(module, folder / "saved")
    inputs = {f"input{k}": array for k, array in enumerate(tf.nest.flatten(data))}
    outputs = {f"output{k}": array for k, array in enumerate(flat(model(data)))}
    np.savez(folder / "arrays.npz", **inputs, **outputs)
    if isinstance(data, list):
        (folder / "is_list").touch()


@pytest.fixture(scope="module")
def fresh_process(tmp_path_factory):
    """What one fresh process says about the files of every case."""
    folder = tmp_path_factory.mktemp("files")
    keras.utils.set_random_seed(0)
    for name, (make, data) in CASES.items():
        save_in_every_format(functional(make(), data), data, folder / name)
    result = subprocess.run(
        [sys.executable, "-c", IN_A_FRESH_PROCESS, str(folder)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", CASES)
def test_files_in_a_fresh_process(name, fresh_process):
    count = {"BiLM": 2, "BiLM rnn": 3}.get(name, 1)
    assert fresh_process[name] == f"same {count}"


def test_masks_reach_the_next_layers():
    ids = keras.Input((None, 12), dtype="int32")
    tokens = CASES["CharCNNEmbedding"][0]()(ids)
    mixed = ScalarMix()(BiLM(8, 6)(tokens))
    model = keras.Model(ids, [mixed, MaskedMean()(mixed)])
    mixed_values, mean = model(IDS)
    np.testing.assert_allclose(mean[0], np.mean(mixed_values[0, :3], axis=0), atol=1e-6)
    assert not np.any(mixed_values[0, 3])
