"""`matmul_dtype="bfloat16"`: near float32, and the same in every form and after every change."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from models.test_elmo import assert_same

from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding, strings
from keras_elmo.layers.matmul import matmul
from keras_elmo.models import kernel_rounding
from keras_elmo.models.kernel_rounding import KernelRounding

SENTENCES = ["The dog barks", "One"]
NAMES = ("elmo", "lstm_outputs1", "word_emb", "default")


@pytest.fixture(autouse=True)
def fast_processor(tmp_path, monkeypatch):
    """A processor that has instructions for bfloat16, so that nothing warns."""
    file = tmp_path / "cpuinfo"
    file.write_text("flags : fpu avx512_bf16\n")
    monkeypatch.setattr(kernel_rounding, "PROCESSOR_FILE", file)
    return file


@pytest.fixture
def counts(monkeypatch):
    """A list with an element for each kernel that was rounded."""
    counts, round_kernel = [], kernel_rounding.round_kernel
    monkeypatch.setattr(
        kernel_rounding, "round_kernel", lambda *args: counts.append(1) or round_kernel(*args)
    )
    return counts


# One product


VALUES = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
X = tf.constant(np.random.default_rng(1).normal(size=(5, 3)), tf.float32)


def make_product():
    """A frozen kernel, and a traced product with it."""
    kernel, rounding = keras.Variable(VALUES, trainable=False), KernelRounding("bfloat16")

    def run(x):
        with rounding.context():
            return matmul(x, kernel)

    return kernel, rounding.traced(run, input_signature=[tf.TensorSpec([None, 3])])


def test_scopes_of_keras_do_not_reach_the_kept_kernels():
    kernel, multiply = make_product()
    expected = make_product()[1](X)
    layer, results = keras.layers.Layer(dtype="mixed_bfloat16"), []
    layer.call = lambda x: results.append(multiply(X)) or x
    layer(np.ones(1, "float32"))
    np.testing.assert_array_equal(results[0], expected)
    with keras.StatelessScope([(kernel, kernel.value * 2)]):
        np.testing.assert_allclose(multiply(X), 2 * expected, rtol=2**-7)
    np.testing.assert_array_equal(multiply(X), expected)


# Models


@pytest.fixture
def new_elmo(one_layer_folder):
    return Elmo.from_pretrained(one_layer_folder, matmul_dtype="bfloat16")


def embed(elmo):
    return np.concatenate(elmo.embed(SENTENCES, layers="all"), axis=1)


def test_vectors_are_near_those_of_float32(one_layer_folder, new_elmo, untraced):
    outputs, found = new_elmo(SENTENCES), embed(new_elmo)
    assert {outputs["elmo"].dtype.name, *(v.dtype for v in new_elmo.weights)} == {"float32"}
    new_elmo.matmul_dtype = None
    exact = embed(new_elmo)
    assert not np.array_equal(found, exact)
    cosines = np.sum(found * exact, -1) / np.linalg.norm(found, axis=-1)
    assert np.min(cosines / np.linalg.norm(exact, axis=-1)) > 0.999
    assert_same(new_elmo(SENTENCES), Elmo.from_pretrained(one_layer_folder)(SENTENCES), atol=0)
    new_elmo.matmul_dtype = "bfloat16"
    with pytest.raises(ValueError, match="matmul_dtype"):
        new_elmo.matmul_dtype = "float64"
    assert_same(new_elmo(SENTENCES), outputs, atol=0)


def test_every_form_of_use_rounds(new_elmo, untraced):
    """Graphs of others round all kernels, and eager calls read those that are kept."""
    expected, texts = new_elmo(SENTENCES), strings(SENTENCES)
    assert_same(tf.function(new_elmo)(texts), expected, NAMES)
    ids = new_elmo.batch_to_ids([sentence.split() for sentence in SENTENCES])
    assert_same(new_elmo.from_character_ids(ids), expected, NAMES)
    real = np.asarray(expected["elmo"])[np.asarray(expected["mask"])]
    np.testing.assert_allclose(np.concatenate(new_elmo.embed(SENTENCES)), real, atol=1e-6)
    config = ElmoEmbedding(new_elmo).get_config()
    assert ElmoEmbedding.from_config(config).elmo.matmul_dtype == "bfloat16"
    assert new_elmo.copy().matmul_dtype == "bfloat16"


def test_kernels_are_rounded_anew_after_every_way_of_loading(
    one_layer_folder, new_elmo, untraced, counts, tmp_path
):
    model = keras.Sequential([keras.Input((), dtype="string"), ElmoEmbedding(new_elmo)])
    other = Elmo.from_pretrained(one_layer_folder)
    other.set_weights([weight * 0.5 for weight in other.get_weights()])
    other.save_weights(tmp_path / "other.hdf5")
    other.save_weights(tmp_path / "other.weights.h5")
    keras.Sequential([keras.Input((), dtype="string"), ElmoEmbedding(other)]).save_weights(
        tmp_path / "model.weights.h5"
    )
    weights, halves = new_elmo.get_weights(), other.get_weights()
    before = embed(new_elmo)
    other.matmul_dtype = "bfloat16"
    after = embed(other)

    def assign():
        for variable, value in zip(new_elmo.variables, halves, strict=True):
            variable.assign(value)

    def train():
        new_elmo.trainable_part = "all"
        embed(new_elmo)
        assign()
        new_elmo.trainable_part = "mix"

    def assign_by_hand():
        assign()
        new_elmo.round_kernels()

    for load in [
        lambda: new_elmo.load_weights(tmp_path / "other.hdf5"),
        lambda: new_elmo.load_weights(tmp_path / "other.weights.h5"),
        lambda: new_elmo.set_weights(halves),
        lambda: model.load_weights(tmp_path / "model.weights.h5"),
        lambda: model.set_weights(halves),
        assign_by_hand,
        train,
    ]:
        new_elmo.set_weights(weights)
        np.testing.assert_array_equal(embed(new_elmo), before)
        counts.clear()
        new_elmo(SENTENCES)
        assert not counts
        load()
        np.testing.assert_array_equal(embed(new_elmo), after)
        assert counts


def test_gradients_reach_what_trains(new_elmo, untraced):
    new_elmo.trainable_part = "bilm"
    kernel, gradients = new_elmo.bilm.cells("forward")[0].recurrent_kernel, []
    for dtype in ("bfloat16", None):
        new_elmo.matmul_dtype = dtype
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(new_elmo(SENTENCES)["elmo"] ** 2)
        gradients.append(np.asarray(tape.gradient(loss, kernel.value)))
    found, expected = gradients
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())
    assert np.abs(found).max() > 0


def test_language_model(new_elmo, untraced):
    model = BiLanguageModel(new_elmo.config, ["<S>", "</S>", "<UNK>", "a"])
    perplexities = []
    for model.matmul_dtype in (None, "bfloat16", None):
        perplexities.append(model.evaluate([["a", "a"]], batch_size=1, verbose=0)[1])
        perplexities.append(model.perplexity([["a", "a"]])["perplexity"])
    np.testing.assert_allclose(perplexities, perplexities[0], rtol=0.05)
    assert perplexities[:2] == perplexities[4:] and perplexities[0] != perplexities[2]
    assert perplexities[1] != perplexities[3]


@pytest.mark.parametrize(
    "text, warns",
    [
        ("flags\t\t: fpu sse2 avx512f\n", True),
        ("Features\t: fp asimd\n", True),
        ("flags : fpu amx_bf16 avx512f\n", False),
        ("something else\n", False),
    ],
)
def test_a_processor_without_instructions_for_it_is_told_once(text, warns, fast_processor):
    fast_processor.write_text(text)
    kernel_rounding.warn_of_slow_processor.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            KernelRounding("bfloat16")
    kernel_rounding.warn_of_slow_processor.cache_clear()
    messages = [str(warning.message) for warning in caught if "bfloat16" in str(warning.message)]
    assert len(messages) == warns
