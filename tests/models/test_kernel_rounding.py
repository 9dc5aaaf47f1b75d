"""`matmul_dtype="bfloat16"`: near float32, and the same in every form and after every change."""

import functools
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from models.test_elmo import SENTENCES, assert_same

from keras_elmo import BiLanguageModel, Elmo, ElmoConfig, ElmoEmbedding, strings
from keras_elmo.models import kernel_rounding
from keras_elmo.training import evaluate

NAMES = ("elmo", "lstm_outputs1", "lstm_outputs2", "word_emb", "default")


@pytest.fixture(autouse=True)
def fast_processor(tmp_path, monkeypatch):
    """A processor that has instructions for bfloat16, so that nothing warns."""
    file = tmp_path / "cpuinfo"
    file.write_text("flags : fpu avx512_bf16\n")
    monkeypatch.setattr(kernel_rounding, "PROCESSOR_FILE", file)


@pytest.fixture
def rounded_elmo(small_folder):
    return Elmo.from_pretrained(small_folder, matmul_dtype="bfloat16")


def embed(elmo):
    return np.concatenate(elmo.embed(SENTENCES, layers="all"), axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_vectors_are_near_those_of_float32(seed):
    rng = np.random.default_rng(seed)
    config = ElmoConfig(
        units=int(rng.integers(20, 40)),
        projection_dim=int(rng.integers(10, 20)),
        num_layers=int(rng.integers(1, 4)),
        character_dim=4,
        filters=[(1, 8), (2, 8)],
        num_highway=int(rng.integers(0, 3)),
    )
    keras.utils.set_random_seed(seed)
    elmo = Elmo(config, matmul_dtype="bfloat16")
    outputs, rounded = elmo(SENTENCES), embed(elmo)
    assert outputs["elmo"].dtype == tf.float32 and {v.dtype for v in elmo.weights} == {"float32"}
    elmo.matmul_dtype = None
    exact = embed(elmo)
    assert not np.array_equal(rounded, exact)
    cosines = np.sum(rounded * exact, -1) / np.linalg.norm(rounded, axis=-1)
    assert np.min(cosines / np.linalg.norm(exact, axis=-1)) > 0.999


def test_without_it_no_bit_changes(small_folder, rounded_elmo):
    expected = Elmo.from_pretrained(small_folder)(SENTENCES)
    rounded = rounded_elmo(SENTENCES)
    rounded_elmo.matmul_dtype = None
    assert_same(rounded_elmo(SENTENCES), expected, atol=0)
    rounded_elmo.matmul_dtype = "bfloat16"
    assert_same(rounded_elmo(SENTENCES), rounded, atol=0)
    assert not np.array_equal(rounded["elmo"], expected["elmo"])


def test_every_form_of_use_rounds(rounded_elmo, tmp_path):
    expected = rounded_elmo(SENTENCES)
    texts = strings(SENTENCES)
    assert_same(tf.function(rounded_elmo)(texts), expected, NAMES)
    assert_same(rounded_elmo.predict(SENTENCES, verbose=0), expected, NAMES)
    ids = rounded_elmo.batch_to_ids([sentence.split() for sentence in SENTENCES])
    assert_same(rounded_elmo.from_character_ids(ids), expected, NAMES)
    tokens = rounded_elmo.embed(SENTENCES)
    real = np.asarray(expected["elmo"])[np.asarray(expected["mask"])]
    np.testing.assert_allclose(np.concatenate(tokens), real, atol=1e-6)
    model = keras.Sequential(
        [keras.Input(shape=(), dtype="string"), ElmoEmbedding(rounded_elmo, output="elmo")]
    )
    np.testing.assert_allclose(model(texts), expected["elmo"], atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(texts, verbose=0), expected["elmo"], atol=1e-6)
    (embedding,) = loaded.layers
    assert embedding.elmo.matmul_dtype == "bfloat16"
    assert Elmo.from_config(rounded_elmo.get_config()).matmul_dtype == "bfloat16"


def fit(elmo):
    """A step of training of all parts, which are frozen again afterwards."""
    elmo.trainable_part = "all"
    classifier = keras.Sequential(
        [keras.Input(shape=(), dtype="string"), ElmoEmbedding(elmo), keras.layers.Dense(1)]
    )
    classifier.compile("sgd", "mse")
    classifier.fit(strings(SENTENCES), np.ones((4, 9, 1)), verbose=0)
    elmo.trainable_part = "mix"


def kernel_of(elmo):
    return elmo.bilm.cells("forward")[0].recurrent_kernel


CHANGES = {
    "load_weights": lambda elmo, file: elmo.load_weights(file),
    "set_weights": lambda elmo, _: elmo.set_weights([w * 0.5 for w in elmo.get_weights()]),
    "assign": lambda elmo, _: kernel_of(elmo).assign(kernel_of(elmo) * 0.5),
    "TensorFlow's assign_add": lambda elmo, _: kernel_of(elmo).value.assign_add(
        tf.ones_like(kernel_of(elmo))
    ),
    "fit": lambda elmo, _: fit(elmo),
    # The last one: TensorFlow copies a variable at each reading once a part of it was assigned to.
    "a row": lambda elmo, _: kernel_of(elmo).value.scatter_nd_update([[0]], [tf.ones(4 * 24)]),
}


def test_kernels_are_rounded_once_and_anew_after_a_change(one_layer_folder, tmp_path, monkeypatch):
    """All changes of one model, since a model takes seconds to trace."""
    elmo, fresh = (Elmo.from_pretrained(one_layer_folder, matmul_dtype="bfloat16") for _ in "ab")
    file = tmp_path / "weights.hdf5"
    Elmo(elmo.config).save_weights(file)
    counts, round_kernel = [], kernel_rounding.round_kernel
    monkeypatch.setattr(
        kernel_rounding, "round_kernel", lambda *args: counts.append(1) or round_kernel(*args)
    )
    before = embed(elmo)
    assert len(counts) > 8
    for name, change in CHANGES.items():
        counts.clear()
        np.testing.assert_array_equal(embed(elmo), before)
        assert not counts, name
        change(elmo, file)
        after = embed(elmo)
        assert counts and not np.array_equal(after, before), name
        fresh.set_weights(elmo.get_weights())
        np.testing.assert_array_equal(after, embed(fresh), err_msg=name)
        before = after


@pytest.fixture(scope="module")
def vectors_of(small_folder):
    """What a new model embeds, by its `matmul_dtype`."""
    return functools.cache(
        lambda dtype: embed(Elmo.from_pretrained(small_folder, matmul_dtype=dtype))
    )


class Embedding(keras.layers.Layer):
    """A layer of a mixed policy that embeds where it is called."""

    def __init__(self, elmo):
        super().__init__(dtype="mixed_bfloat16")
        self.embedded = lambda: embed(elmo)

    def call(self, x):
        self.result = self.embedded()
        return x


@pytest.mark.parametrize("is_used", [True, False])
def test_a_layer_of_a_mixed_policy_changes_no_vector(is_used, rounded_elmo, vectors_of):
    expected = vectors_of("bfloat16")
    if is_used:
        embed(rounded_elmo)
    layer = Embedding(rounded_elmo)
    layer(np.ones(1, "float32"))
    np.testing.assert_array_equal(layer.result, expected)
    np.testing.assert_array_equal(embed(rounded_elmo), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", None])
@pytest.mark.parametrize("is_used", [True, False])
def test_a_stateless_scope_has_its_own_values(is_used, dtype, rounded_elmo, vectors_of):
    rounded_elmo.matmul_dtype = dtype
    expected = vectors_of(dtype)
    if is_used:
        embed(rounded_elmo)
    with keras.StatelessScope():
        same = embed(rounded_elmo)
    with keras.StatelessScope([(v, v.value * 0.5) for v in rounded_elmo.weights]):
        halved = embed(rounded_elmo)
    tolerance = 2e-7 if dtype is None else 1e-2
    np.testing.assert_allclose(same, expected, atol=tolerance)
    np.testing.assert_array_equal(embed(rounded_elmo), expected)
    rounded_elmo.set_weights([weight * 0.5 for weight in rounded_elmo.get_weights()])
    np.testing.assert_allclose(halved, embed(rounded_elmo), atol=tolerance)


def test_gradients_reach_what_trains(rounded_elmo):
    rounded_elmo.trainable_part = "bilm"
    kernel = rounded_elmo.bilm.cells("forward")[0].recurrent_kernel
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(rounded_elmo(SENTENCES)["elmo"] ** 2)
    found = tape.gradient(loss, kernel.value)
    rounded_elmo.matmul_dtype = None
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(rounded_elmo(SENTENCES)["elmo"] ** 2)
    expected = tape.gradient(loss, kernel.value)
    np.testing.assert_allclose(found, expected, atol=0.05 * np.abs(expected).max())
    assert np.abs(found).max() > 0


def test_language_model(small_config):
    model = BiLanguageModel(small_config, ["<S>", "</S>", "<UNK>", "a"], matmul_dtype="bfloat16")
    rounded = model(["a a a"])["forward"]
    model.matmul_dtype = None
    exact = model(["a a a"])["forward"]
    np.testing.assert_allclose(rounded, exact, rtol=0.05)
    assert not np.array_equal(rounded, exact)
    perplexities = []
    for dtype in (None, "bfloat16", None):
        model.matmul_dtype = dtype
        perplexities.append(evaluate(model, [["a", "a"]], batch_size=1)["perplexity"])
    assert perplexities[0] == perplexities[2] != perplexities[1]


def test_it_is_bfloat16_or_none(new_elmo):
    with pytest.raises(ValueError, match="matmul_dtype"):
        Elmo(new_elmo.config, matmul_dtype="float16")
    with pytest.raises(ValueError, match="matmul_dtype"):
        new_elmo.matmul_dtype = "float64"
    assert new_elmo.matmul_dtype is None


@pytest.mark.parametrize(
    "text, warns",
    [
        ("flags\t\t: fpu sse2 avx512f\n", True),
        ("Features\t: fp asimd\n", True),
        ("flags : fpu amx_bf16 avx512f\n", False),
        ("Features : fp asimd bf16\n", False),
        ("something else\n", False),
        (None, False),
    ],
)
def test_a_processor_without_instructions_for_it_is_told_once(
    text, warns, small_config, tmp_path, monkeypatch
):
    file = tmp_path / "other"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(kernel_rounding, "PROCESSOR_FILE", file)
    kernel_rounding.warn_of_slow_processor.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            Elmo(small_config, matmul_dtype="bfloat16")
    kernel_rounding.warn_of_slow_processor.cache_clear()
    messages = [str(warning.message) for warning in caught if "bfloat16" in str(warning.message)]
    assert len(messages) == warns
