import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from layers.cases import run_in_jax

from keras_elmo.layers import CRF, CRFAccuracy, CRFDecoder, CRFLoss, EntityF1
from keras_elmo.layers.crf import tag_probabilities


def random_case(rng, batch=3):
    """A layer with random weights, scores, and a mask with real tokens anywhere."""
    tokens, tags = rng.integers(1, 6), rng.integers(1, 5)
    layer = CRF(initializer=keras.initializers.RandomNormal(stddev=1.0, seed=int(rng.integers(99))))
    layer.build((None, None, int(tags)))
    scores = rng.normal(size=(batch, tokens, tags), scale=2).astype(np.float32)
    mask = rng.random((batch, tokens)) < 0.7
    return layer, scores, mask


def score_of(layer, scores, paths):
    """The scores of sequences of tags, (..., tokens), by the formula in the docstring."""
    if not len(scores):
        return np.zeros(paths.shape[:-1])
    weights = layer.start, layer.transitions, layer.end
    start, transitions, end = (np.asarray(x, np.float64) for x in weights)
    of_tags = scores.astype(np.float64)[np.arange(len(scores)), paths].sum(-1)
    of_pairs = transitions[paths[..., :-1], paths[..., 1:]].sum(-1)
    return start[paths[..., 0]] + of_tags + of_pairs + end[paths[..., -1]]


def brute_force(layer, scores, mask, right):
    """Over all paths of a sentence: log-partition, best score, and log-likelihood of `right`."""
    scores = scores[mask]
    paths = np.array(list(itertools.product(range(scores.shape[1]), repeat=len(scores))))
    values = score_of(layer, scores, paths)
    log_partition = np.logaddexp.reduce(values)
    of_right = score_of(layer, scores, right[mask])
    # Impossible tags have the probability 0, also where no others are possible.
    return log_partition, max(values), of_right - log_partition if of_right > -np.inf else -np.inf


def crf_log_likelihood(inputs, tag_indices, sequence_lengths, transition_params):
    """That of TensorFlow Addons: the unary and the binary score of the tags, less the logarithm of
    the sum over all sequences."""

    def score(path, scores):
        unary = sum(scores[t, tag] for t, tag in enumerate(path))
        return unary + sum(transition_params[pair] for pair in itertools.pairwise(path))

    found = []
    for scores, tags, length in zip(inputs, tag_indices, sequence_lengths, strict=True):
        paths = itertools.product(range(inputs.shape[-1]), repeat=length)
        log_norm = np.logaddexp.reduce([score(path, scores) for path in paths])
        found.append(score(tags[:length], scores) - log_norm)
    return found


@pytest.mark.parametrize("has_boundaries", [False, True])
def test_the_loss_is_minus_the_log_likelihood_of_tensorflow_addons(has_boundaries):
    rng, lengths = np.random.default_rng(9), np.array([0, 1, 2, 4, 5, 5])
    inputs, tags = rng.normal(size=(6, 5, 3)).astype(np.float32), rng.integers(0, 3, (6, 5))
    start, end = has_boundaries * rng.normal(size=(2, 3))
    transitions, layer = rng.normal(size=(3, 3)), CRF()
    layer.build(inputs.shape)
    layer.set_weights([start, transitions, end])
    outputs = layer(inputs, mask=np.arange(5) < lengths[:, None])
    losses = np.asarray(CRFLoss(reduction=None)(tags, outputs)).sum(1)
    # `tfa.layers.CRF` adds its boundaries to the scores of the first and of the last token.
    inputs[:, 0] += start
    inputs[np.arange(1, 6), lengths[1:] - 1] += end
    expected = crf_log_likelihood(inputs, tags, lengths, transitions)
    np.testing.assert_allclose(-losses, expected, rtol=0, atol=1e-5)


def forbid_at_random(rng, layer, scores, value, share=0.25):
    """Sets about a quarter of all weights and scores to a value."""
    for variable in layer.trainable_variables:
        is_forbidden = rng.random(variable.shape) < share
        variable.assign(np.where(is_forbidden, value, np.asarray(variable)))
    scores[rng.random(scores.shape) < share / 2] = value


def losses_and_gradients(layer, scores, mask, right, rows):
    """The loss of each token, and the gradients of the sum over some rows."""
    with tf.GradientTape() as tape:
        scores = tf.convert_to_tensor(scores)
        tape.watch(scores)
        losses = CRFLoss(reduction=None)(right, layer(scores, mask=mask))
        total = tf.reduce_sum(tf.boolean_mask(losses, rows))
    variables = [scores, *(v.value for v in layer.trainable_variables)]
    return losses, tape.gradient(total, variables)


@pytest.mark.parametrize("value", [None, -np.inf, -1e30])
def test_random_sentences_equal_brute_force(value):
    """With a value, a quarter of the weights is forbidden. (`fuzz/crf.py` has more of them.)"""
    rng = np.random.default_rng(4)
    seen = dict.fromkeys(("right", "wrong", "impossible"), 0)
    for _ in range(16):
        layer, scores, mask = random_case(rng, batch=5)
        if value is not None:
            forbid_at_random(rng, layer, scores, value)
        outputs = layer(scores, mask=mask)
        assert np.all(np.asarray(outputs)[mask] <= 0)
        found = np.asarray(CRFDecoder()(outputs))
        is_masked = ~mask[:, 1:]  # which repeats the tag before
        np.testing.assert_array_equal(found[:, 1:][is_masked], found[:, :-1][is_masked])
        right = rng.integers(0, scores.shape[2], mask.shape)
        if value is not None:  # also the most likely tags, which are possible
            right = np.where(rng.random((5, 1)) < 0.6, found, right)
        probabilities = np.asarray(tag_probabilities(outputs))
        assert not probabilities[~mask].any()
        one_hot = right[..., None] == np.arange(scores.shape[2])
        right[~mask] = 99  # what is masked need not be a tag
        expected = [brute_force(layer, *case) for case in zip(scores, mask, right, strict=True)]
        is_finite = np.array([row[2] > -1e20 and row[0] > -1e20 for row in expected])
        losses, gradients = losses_and_gradients(layer, scores, mask, right, is_finite)
        losses, gradients = losses.numpy(), [gradient.numpy() for gradient in gradients]
        assert np.all(np.isfinite(np.concatenate([g.ravel() for g in gradients])))
        assert not losses[~mask].any()
        for row, is_real in enumerate(mask):
            log_partition, highest, likelihood = expected[row]
            best = score_of(layer, scores[row, is_real], found[row, is_real])
            if log_partition <= -1e20:  # no tags are possible
                seen["impossible"] += 1
                assert value > -np.inf or losses[row].sum() == np.inf
                assert not np.any(gradients[0][row])
                continue
            assert best == pytest.approx(highest, abs=1e-5)  # no forbidden pair is found
            if is_finite[row]:
                seen["right"] += 1
                np.testing.assert_allclose(-losses[row].sum(), likelihood, rtol=0, atol=1e-5)
                # The gradient is how often a tag is expected, less how often it is.
                gradient = probabilities[row] - is_real[:, None] * one_hot[row]
                np.testing.assert_allclose(gradients[0][row], gradient, rtol=0, atol=2e-5)
            else:
                seen["wrong"] += 1
                assert losses[row].sum() > 1e29 and (value > -np.inf or np.inf in losses[row])
    assert seen["right"] == 80 if value is None else min(seen.values()) > 5


@pytest.mark.parametrize("where", ["scores", "start", "transitions", "end"])
def test_scores_of_nan_have_a_loss_of_nan(where):
    layer, rng = CRF("glorot_normal"), np.random.default_rng(6)
    layer.build((None, None, 3))
    scores = rng.normal(size=(2, 4, 3)).astype(np.float32)
    mask = np.array([[True, True, True, True], [True, False, True, False]])
    right = rng.integers(0, 3, mask.shape)
    expected = [True, where != "scores"]
    if where == "scores":
        scores[0, 1, 2] = np.nan
    else:
        variable = getattr(layer, where)
        variable.assign(np.where(np.eye(3)[0], np.nan, np.asarray(variable)))
    outputs = layer(scores, mask=mask)
    losses = np.asarray(CRFLoss(reduction=None)(right, outputs))
    assert np.isnan(losses.sum(axis=1)).tolist() == expected and not losses[~mask].any()
    assert 0 <= float(CRFAccuracy()(right, outputs)) <= 1


def test_nan_where_tokens_are_masked_does_not_matter():
    rng = np.random.default_rng(5)
    layer, scores, mask = random_case(rng)
    right = np.where(mask, rng.integers(0, scores.shape[2], mask.shape), -1)
    expected = losses_and_gradients(layer, scores, mask, right, np.ones(3, bool))
    for value in (np.nan, np.inf, -np.inf, 3e38):
        scores[~mask] = value
        found = losses_and_gradients(layer, scores, mask, right, np.ones(3, bool))
        for x, y in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_the_mask_goes_with_stored_and_cast_outputs(dtype):
    rng = np.random.default_rng(7)
    layer = CRF("glorot_normal")
    layer.build((None, None, 3))
    layer.transitions.assign(np.where(np.eye(3)[::-1] > 0, -1e30, layer.transitions))
    scores = rng.normal(size=(4, 6, 3)).astype(np.float32)
    mask = rng.random((4, 6)) < 0.6
    outputs = layer(scores, mask=mask)
    cast = ops.cast(np.asarray(outputs), dtype)  # without the Keras mask
    right = np.asarray(CRFDecoder()(outputs))
    np.testing.assert_array_equal(CRFDecoder()(cast), right)
    losses = np.asarray(CRFLoss(reduction=None)(right, cast))
    assert not losses[~mask].any() and losses[mask].all()
    metric, one_wrong = CRFAccuracy(), np.where(mask.cumsum().reshape(4, 6) == 1, -1, right)
    metric.update_state(np.where(mask, one_wrong, -1), cast)
    assert float(metric.result()) == pytest.approx(1 - 1 / mask.sum())


def test_a_right_tag_that_the_model_does_not_have_is_nan():
    outputs = CRF()(np.zeros((1, 3, 2), np.float32))
    for tag in (-1, 2, 99):
        losses = np.asarray(CRFLoss(reduction=None)(np.array([[0, tag, 1]]), outputs))
        assert np.isnan(losses).tolist() == [[False, True, False]]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_a_graph_for_any_number_of_tokens(jit_compile):
    rng = np.random.default_rng(8)
    layer, scores, _ = random_case(rng)
    forbid_at_random(rng, layer, scores, -np.inf)
    tags = scores.shape[2]

    def run(scores, mask):
        outputs = layer(scores, mask=mask)
        best = CRFDecoder()(outputs)
        return outputs, best, CRFLoss(reduction=None)(best, outputs)

    specs = tf.TensorSpec([None, None, tags]), tf.TensorSpec([None, None], tf.bool)
    graph = tf.function(run, input_signature=specs, jit_compile=jit_compile)
    for tokens in (1, 7):
        scores = rng.normal(size=(2, tokens, tags)).astype(np.float32)
        scores[0, 0, 0] = np.nan
        mask = rng.random((2, tokens)) < 0.8
        for x, y in zip(graph(scores, mask), run(scores, mask), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-5)


def test_gradients_of_a_long_sequence_are_finite():
    layer = CRF(initializer=keras.initializers.RandomNormal(stddev=3.0))
    scores = (30 * np.random.normal(size=(2, 500, 9))).astype(np.float32)
    tags, mask = np.zeros((2, 500), int), np.arange(500) < np.array([[500], [317]])
    layer.build(scores.shape)
    # In a graph: 500 steps one by one take seconds.
    run = tf.function(losses_and_gradients, autograph=False)
    losses, gradients = run(layer, tf.constant(scores), mask, tags, np.ones(2, bool))
    assert np.isfinite(losses).all()
    for gradient in gradients:
        assert np.all(np.isfinite(gradient)) and np.any(gradient)
    assert not np.any(gradients[0][1, 317:])


IN_JAX = """
import sys
import jax, keras, numpy as np
from keras_elmo.layers import CRF, CRFDecoder, CRFLoss, EntityF1
assert keras.backend.backend() == "jax"
case = np.load(sys.argv[1])
scores, mask, tags = case["scores"], case["mask"], case["tags"]
layer = CRF()
layer.build(scores.shape)
layer.set_weights([case[f"weight{k}"] for k in range(3)])
outputs = layer(scores, mask=mask)
np.testing.assert_array_equal(CRFDecoder()(outputs), tags)
losses = CRFLoss(reduction=None)(case["right"], outputs)
for found, name in ((outputs, "outputs"), (losses, "losses")):
    np.testing.assert_allclose(found, case[name], rtol=1e-5, atol=1e-5)
f1 = EntityF1(["O", "B-A", "I-A", "B-B", "I-B"])
state = [v.value for v in f1.variables]
state = jax.jit(f1.stateless_update_state)(state, case["right"], outputs)
assert 0.1 < f1.stateless_result(state) == case["f1"] < 0.9

def loss(scores, *weights):
    outputs, _ = layer.stateless_call(weights, [], scores, mask=mask)
    return CRFLoss(reduction="sum")(tags, outputs)

weights = [v.value for v in layer.trainable_variables]
for k, gradient in enumerate(jax.jit(jax.grad(loss, range(4)))(scores, *weights)):
    assert np.all(np.isfinite(gradient)) and np.any(gradient)
    np.testing.assert_allclose(gradient, case[f"gradient{k}"], atol=1e-4)
assert np.isnan(loss(np.full_like(scores, np.nan), *weights))
"""


def test_jax_gives_the_same(tmp_path):
    """Also where some weights are forbidden."""
    rng, size = np.random.default_rng(2), (60, 40)
    layer = CRF(initializer=keras.initializers.RandomNormal(stddev=1.0))
    layer.build((None, None, 5))
    forbid_at_random(rng, layer, np.zeros(0), -np.inf, share=0.2)
    scores = rng.normal(size=(*size, 5), scale=2).astype(np.float32)
    mask, right = rng.random(size) < 0.8, rng.integers(0, 5, size)
    scores[~mask] = np.nan
    outputs = layer(scores, mask=mask)
    tags = np.asarray(CRFDecoder()(outputs))
    losses = np.asarray(CRFLoss(reduction=None)(right, outputs))
    f1 = EntityF1(["O", "B-A", "I-A", "B-B", "I-B"])(right, outputs)
    assert 20 < np.isinf(losses).sum() < 1500
    _, gradients = losses_and_gradients(layer, scores, mask, tags, np.ones(size[0], bool))
    arrays = {f"weight{k}": v.numpy() for k, v in enumerate(layer.trainable_variables)}
    arrays |= {f"gradient{k}": gradient for k, gradient in enumerate(gradients)}
    arrays |= {"scores": scores, "mask": mask, "right": right, "outputs": outputs}
    run_in_jax(IN_JAX, tmp_path, **arrays, tags=tags, losses=losses, f1=f1)


def test_a_tagger_learns_what_only_the_tag_before_tells_and_is_saved(tmp_path):
    layers = [keras.layers.Embedding(7, 4, mask_zero=True), keras.layers.Dense(3), CRF()]
    model = keras.Sequential([keras.Input((None,)), *layers])
    metrics = [CRFAccuracy(), EntityF1(["O", "B-X", "I-X"])]
    model.compile(keras.optimizers.Adam(0.1), CRFLoss(), metrics=metrics)
    words = np.array([[2, 1, 3, 1], [3, 1, 0, 0], [2, 1, 2, 1], [3, 1, 3, 0]])  # 0 is padding
    # The tag of word 1 is 1 after a word 2, and 2 after a word 3.
    tags = np.array([[1, 1, 2, 2], [2, 2, 9, 9], [1, 1, 1, 1], [2, 2, 2, 9]])
    is_forbidden, is_real = np.eye(3)[[2, 0, 1]] > 0, words > 0  # no pairs 0 2, 1 0 and 2 1
    layers[-1].transitions.assign(np.where(is_forbidden, -np.inf, 0))
    first = model.evaluate(words, tags, verbose=0)[0]
    # 60 batches, each the four sentences: one epoch of them is faster than 60 epochs of one.
    repeated = np.tile(words, (60, 1)), np.tile(tags, (60, 1))
    model.fit(*repeated, batch_size=4, shuffle=False, verbose=0)
    transitions = np.asarray(layers[-1].transitions)
    np.testing.assert_array_equal(transitions == -np.inf, is_forbidden)
    assert np.isfinite(transitions[~is_forbidden]).all() and transitions.any()
    model.save(tmp_path / "tagger.keras")
    again = keras.models.load_model(tmp_path / "tagger.keras")
    loss, accuracy, f1 = again.evaluate(words, tags, batch_size=3, verbose=0)
    assert accuracy == f1 == 1 and loss < 0.2 * first
    outputs = again(words)
    by_hand = np.asarray(CRFLoss(reduction=None)(tags, outputs))[is_real].mean()
    assert again.evaluate(words, tags, verbose=0)[0] == pytest.approx(by_hand, rel=1e-5)
    np.testing.assert_allclose(model.predict(words, verbose=0), outputs, atol=1e-6)
    decoding = keras.Model(again.inputs, CRFDecoder()(again.outputs[0]))
    assert decoding.output_shape == (None, None) and decoding.outputs[0].dtype == "int32"
    np.testing.assert_array_equal(decoding.predict(words, verbose=0)[is_real], tags[is_real])


def test_mixed_precision_computes_in_float32():
    layer = CRF(dtype="mixed_bfloat16")
    assert layer(np.ones((1, 2, 3), np.float16)).dtype == "float32"
    assert CRF.from_config(layer.get_config()).dtype_policy.name == "float32"


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: CRF()(np.ones((2, 3))), r"tags.*\(2, 3\)"),
        (lambda: CRF().build((None, None, None)), "number of tags"),
        (lambda: CRFLoss()(np.ones((2, 3)), np.ones((2, 3, 4))), r"`CRF`.*\(2, 3, 4\)"),
        (lambda: CRFDecoder()(np.ones((2, 3, 4))), r"`CRF`.*\(2, 3, 4\)"),
        (lambda: CRFLoss()(np.ones((2,)), np.ones((2, 3, 4, 4))), r"tags.*\(2,\)"),
    ],
)
def test_wrong_shapes(call, message):
    with pytest.raises(ValueError, match=message):
        call()
