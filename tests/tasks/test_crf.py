import itertools
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from keras_elmo.tasks import CRF, CRFAccuracy, CRFDecoder, CRFLoss
from keras_elmo.tasks.crf import tag_probabilities


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


def forbid_at_random(rng, layer, scores, value, share=0.25):
    """Sets about a quarter of all weights and scores to a value."""
    for variable in layer.trainable_variables:
        is_forbidden = rng.random(variable.shape) < share
        variable.assign(np.where(is_forbidden, value, np.asarray(variable)))
    scores[rng.random(scores.shape) < share / 2] = value


def expected_gradient(layer, scores, mask, right):
    """Of a sentence's loss for its scores: how often a tag is expected, less how often it is."""
    gradient, count = np.zeros(scores.shape), len(scores[mask])
    paths = np.array(list(itertools.product(range(scores.shape[1]), repeat=count)), int)
    values = score_of(layer, scores[mask], paths)
    shares = np.exp(values - np.logaddexp.reduce(values))
    tags = np.eye(scores.shape[1])
    gradient[mask] = np.einsum("p,ptk->tk", shares, tags[paths]) - tags[right[mask]]
    return gradient


def losses_and_gradients(layer, scores, mask, right, rows):
    """The loss of each token, and the gradients of the sum over some rows."""
    with tf.GradientTape() as tape:
        variables = [tf.Variable(scores), *(v.value for v in layer.trainable_variables)]
        losses = CRFLoss(reduction=None)(right, layer(variables[0], mask=mask))
        total = tf.reduce_sum(tf.boolean_mask(losses, rows))
    return np.asarray(losses), [np.asarray(g) for g in tape.gradient(total, variables)]


@pytest.mark.parametrize("value", [None, -np.inf, -1e30])
def test_random_sentences_equal_brute_force(value):
    """With a value, a quarter of the weights is forbidden. (`fuzz/crf.py` has more of them.)"""
    rng = np.random.default_rng(4)
    seen = dict.fromkeys(("right", "wrong", "impossible"), 0)
    for _ in range(16):
        layer, scores, mask = random_case(rng, batch=5)
        if value is not None:
            forbid_at_random(rng, layer, scores, value)
        totals = np.asarray(layer.log_partition(scores, mask))
        outputs = layer(scores, mask=mask)
        assert np.all(np.asarray(outputs)[mask] <= 0)
        found = np.asarray(CRFDecoder()(outputs))
        right = rng.integers(0, scores.shape[2], mask.shape)
        if value is not None:  # also the most likely tags, which are possible
            right = np.where(rng.random((5, 1)) < 0.6, found, right)
        right[~mask] = 99  # what is masked need not be a tag
        expected = [brute_force(layer, *case) for case in zip(scores, mask, right, strict=True)]
        is_finite = np.array([row[2] > -1e20 and row[0] > -1e20 for row in expected])
        losses, gradients = losses_and_gradients(layer, scores, mask, right, is_finite)
        assert np.all(np.isfinite(np.concatenate([g.ravel() for g in gradients])))
        assert not losses[~mask].any()
        for row, is_real in enumerate(mask):
            log_partition, highest, likelihood = expected[row]
            best = score_of(layer, scores[row, is_real], found[row, is_real])
            if log_partition <= -1e20:  # no tags are possible
                seen["impossible"] += 1
                assert totals[row] <= -1e20 and (value > -np.inf or losses[row].sum() == np.inf)
                assert not np.any(gradients[0][row])
                continue
            np.testing.assert_allclose(totals[row], log_partition, rtol=0, atol=1e-5)
            assert best == pytest.approx(highest, abs=1e-5)  # no forbidden pair is found
            if is_finite[row]:
                seen["right"] += 1
                np.testing.assert_allclose(-losses[row].sum(), likelihood, rtol=0, atol=1e-5)
                gradient = expected_gradient(layer, scores[row], is_real, right[row])
                np.testing.assert_allclose(gradients[0][row], gradient, rtol=0, atol=1e-5)
            else:
                seen["wrong"] += 1
                assert losses[row].sum() > 1e29 and (value > -np.inf or np.inf in losses[row])
    assert seen["right"] == 80 if value is None else min(seen.values()) > 5


def test_the_probabilities_of_tags_equal_brute_force():
    rng = np.random.default_rng(2)
    for _ in range(20):
        layer, scores, mask = random_case(rng)
        found = ops.convert_to_numpy(tag_probabilities(layer(scores, mask=mask)))
        # The gradient of the logarithm of the sum over all paths.
        scores = tf.constant(scores)
        with tf.GradientTape() as tape:
            tape.watch(scores)
            total = ops.sum(layer.log_partition(scores, mask=mask))
        np.testing.assert_allclose(found, tape.gradient(total, scores), atol=2e-5)
        assert not found[~np.asarray(mask)].any()


def test_the_first_transition_may_be_forbidden():
    layer = CRF()
    layer.build((None, None, 2))
    layer.transitions.assign([[-np.inf, 0], [0, 0]])
    scores = np.zeros((1, 3, 2), np.float32)
    # Of the eight sequences, 0 0 1, 1 0 0 and 0 0 0 have the forbidden pair.
    assert float(layer.log_partition(scores)[0]) == pytest.approx(np.log(5))
    tags = np.array([[[0, 1, 0]], [[1, 0, 0]]])
    losses = [float(CRFLoss(reduction="sum")(t, layer(scores))) for t in tags]
    assert losses == [pytest.approx(np.log(5)), np.inf]


@pytest.mark.parametrize("where", ["scores", "start", "transitions", "end", "all scores"])
def test_scores_of_nan_have_a_loss_of_nan(where):
    layer, rng = CRF("glorot_normal"), np.random.default_rng(6)
    layer.build((None, None, 3))
    scores = rng.normal(size=(2, 4, 3)).astype(np.float32)
    mask = np.array([[True, True, True, True], [True, False, True, False]])
    right = rng.integers(0, 3, mask.shape)
    if where == "scores":
        scores[0, 1, 2] = np.nan
    elif where == "all scores":
        scores[:] = np.nan
    else:
        variable = getattr(layer, where)
        variable.assign(np.where(np.eye(3)[0], np.nan, np.asarray(variable)))
    outputs = layer(scores, mask=mask)
    losses = np.asarray(CRFLoss(reduction=None)(right, outputs))
    assert np.isnan(losses.sum(axis=1)).tolist() == [True, where != "scores"]
    assert not losses[~mask].any() and np.isnan(float(CRFLoss()(right, outputs)))
    assert np.isnan(layer.log_partition(scores, mask)).tolist() == [True, where != "scores"]
    assert 0 <= float(CRFAccuracy()(right, outputs)) <= 1


def test_nan_where_tokens_are_masked_does_not_matter():
    rng = np.random.default_rng(5)
    layer, scores, mask = random_case(rng)
    right = np.where(mask, rng.integers(0, scores.shape[2], mask.shape), -1)
    expected = losses_and_gradients(layer, scores, mask, right, np.ones(3, bool))
    totals = np.asarray(layer.log_partition(scores, mask))
    for value in (np.nan, np.inf, -np.inf, 3e38):
        scores[~mask] = value
        found = losses_and_gradients(layer, scores, mask, right, np.ones(3, bool))
        for x, y in zip(keras.tree.flatten(found), keras.tree.flatten(expected), strict=True):
            np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(layer.log_partition(scores, mask), totals)


@pytest.mark.parametrize("tags", [1, 3])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_the_mask_goes_with_stored_and_cast_outputs(dtype, tags):
    rng = np.random.default_rng(7)
    layer = CRF("glorot_normal")
    layer.build((None, None, tags))
    if tags > 1:
        layer.transitions.assign(np.where(np.eye(tags)[::-1] > 0, -1e30, layer.transitions))
    scores = rng.normal(size=(4, 6, tags)).astype(np.float32)
    mask = rng.random((4, 6)) < 0.6
    outputs = layer(scores, mask=mask)
    stored = np.asarray(outputs)  # without the Keras mask
    cast = keras.ops.cast(stored, dtype)
    right = np.asarray(CRFDecoder()(outputs))
    np.testing.assert_array_equal(CRFDecoder()(cast), right)
    losses = np.asarray(CRFLoss(reduction=None)(right, cast))
    assert not losses[~mask].any() and (tags == 1 or losses[mask].all())
    metric, one_wrong = CRFAccuracy(), np.where(mask.cumsum().reshape(4, 6) == 1, -1, right)
    metric.update_state(np.where(mask, one_wrong, -1), cast)
    assert float(metric.result()) == pytest.approx(1 - 1 / mask.sum())


def test_xla_finds_the_same_mask_and_losses():
    layer, scores, mask = random_case(np.random.default_rng(8))
    forbid_at_random(np.random.default_rng(8), layer, scores, -np.inf)
    right = np.asarray(CRFDecoder()(layer(scores, mask=mask)))
    scores[0, 0, 0] = np.nan

    def run():
        outputs = layer(scores, mask=mask)
        return outputs, CRFLoss(reduction=None)(right, outputs)

    for x, y in zip(tf.function(run, jit_compile=True)(), run(), strict=True):
        np.testing.assert_allclose(x, y, atol=1e-5)


def test_a_right_tag_that_the_model_does_not_have_is_nan():
    outputs = CRF()(np.zeros((1, 3, 2), np.float32))
    for tag in (-1, 2, 99):
        losses = np.asarray(CRFLoss(reduction=None)(np.array([[0, tag, 1]]), outputs))
        assert np.isnan(losses).tolist() == [[False, True, False]]


def test_masked_tokens_change_nothing_and_repeat_the_tag_before():
    rng = np.random.default_rng(1)
    layer = CRF(initializer=keras.initializers.RandomNormal(stddev=1.0))
    scores = rng.normal(size=(1, 5, 3)).astype(np.float32)
    alone = np.asarray(CRFDecoder()(layer(scores[:, [1, 2, 4]])))[0]
    mask = np.array([[False, True, True, False, True]])
    found = np.asarray(CRFDecoder()(layer(scores, mask=mask)))[0]
    np.testing.assert_array_equal(found[[1, 2, 4]], alone)
    assert found[0] == 0 and found[3] == found[2]
    nothing = layer(scores, mask=np.zeros((1, 5), bool))
    assert np.asarray(CRFLoss()(np.ones((1, 5), int), nothing)) == 0


def test_a_graph_for_any_number_of_tokens():
    rng = np.random.default_rng(2)
    layer, scores, mask = random_case(rng)
    outputs = np.asarray(layer(scores, mask=mask))
    np.testing.assert_allclose(np.exp(outputs[mask]).sum(-1), 1, atol=1e-5)  # probabilities
    assert np.all(outputs[~mask] == 1)
    decoder, loss = CRFDecoder(), CRFLoss()

    def run(scores, mask):
        outputs = layer(scores, mask=mask)
        return outputs, decoder(outputs), loss(tf.zeros_like(outputs[..., 0, 0]), outputs)

    tags = scores.shape[2]
    specs = tf.TensorSpec([None, None, tags]), tf.TensorSpec([None, None], tf.bool)
    graph = tf.function(run, input_signature=specs)
    for tokens in (1, 7):
        scores = rng.normal(size=(2, tokens, tags)).astype(np.float32)
        mask = np.ones((2, tokens), bool)
        for x, y in zip(graph(scores, mask), run(scores, mask), strict=True):
            np.testing.assert_allclose(x, y, atol=1e-5)


def test_gradients_of_a_long_sequence_are_finite():
    layer = CRF(initializer=keras.initializers.RandomNormal(stddev=3.0))
    scores = tf.Variable(30 * np.random.normal(size=(2, 500, 9)), dtype="float32")
    tags = np.random.default_rng(0).integers(0, 9, (2, 500))
    mask = np.arange(500) < np.array([[500], [317]])
    layer.build(scores.shape)

    @tf.function(autograph=False)  # 500 steps one by one take seconds
    def run():
        with tf.GradientTape() as tape:
            loss = CRFLoss(reduction="sum")(tags, layer(scores, mask=mask))
        return loss, tape.gradient(loss, [scores, *(v.value for v in layer.trainable_variables)])

    loss, gradients = run()
    assert np.isfinite(loss) and loss > 0
    for gradient in gradients:
        assert np.all(np.isfinite(gradient)) and np.any(gradient)
    assert not np.any(gradients[0][1, 317:])


IN_JAX = """
import sys
import jax, keras, numpy as np
from keras_elmo.tasks import CRF, CRFDecoder, CRFLoss
assert keras.backend.backend() == "jax"
for path in sys.argv[1:]:
    case = np.load(path)
    scores, mask, tags = case["scores"], case["mask"], case["tags"]
    layer = CRF()
    layer.build(scores.shape)
    layer.set_weights([case[f"weight{k}"] for k in range(3)])
    outputs = layer(scores, mask=mask)
    np.testing.assert_array_equal(CRFDecoder()(outputs), tags)
    for name, found in {
        "outputs": outputs,
        "totals": layer.log_partition(scores, mask),
        "losses": CRFLoss(reduction=None)(case["right"], outputs),
    }.items():
        np.testing.assert_allclose(found, case[name], rtol=1e-5, atol=1e-5)

    def loss(scores, *weights):
        outputs, _ = layer.stateless_call(weights, [], scores, mask=mask)
        return CRFLoss(reduction="sum")(tags, outputs)

    weights = [v.value for v in layer.trainable_variables]
    for k, gradient in enumerate(jax.jit(jax.grad(loss, range(4)))(scores, *weights)):
        assert np.all(np.isfinite(gradient)) and np.any(gradient)
        np.testing.assert_allclose(gradient, case[f"gradient{k}"], atol=1e-4)
    assert np.isnan(loss(np.full_like(scores, np.nan), *weights))
print("same")
"""


def test_jax_gives_the_same(tmp_path):
    """For long sentences, and for short ones whose weights are forbidden to a quarter."""
    pytest.importorskip("jax")
    rng = np.random.default_rng(2)
    for name, size, share in [("long.npz", (3, 100), 0), ("short.npz", (200, 3), 0.25)]:
        layer = CRF(initializer=keras.initializers.RandomNormal(stddev=1.0))
        layer.build((None, None, 5))
        forbid_at_random(rng, layer, np.zeros(0), -np.inf, share)
        scores = rng.normal(size=(*size, 5), scale=2).astype(np.float32)
        mask, right = rng.random(size) < 0.8, rng.integers(0, 5, size)
        scores[~mask] = np.nan
        outputs = layer(scores, mask=mask)
        tags = np.asarray(CRFDecoder()(outputs))
        losses = np.asarray(CRFLoss(reduction=None)(right, outputs))
        _, gradients = losses_and_gradients(layer, scores, mask, tags, np.ones(size[0], bool))
        arrays = {f"weight{k}": v.numpy() for k, v in enumerate(layer.trainable_variables)}
        arrays |= {f"gradient{k}": gradient for k, gradient in enumerate(gradients)}
        arrays |= {"scores": scores, "mask": mask, "right": right, "outputs": outputs}
        totals = layer.log_partition(scores, mask)
        np.savez(tmp_path / name, **arrays, tags=tags, losses=losses, totals=totals)
    assert 20 < np.isinf(losses).any(axis=1).sum() < 180
    result = subprocess.run(
        [sys.executable, "-c", IN_JAX, tmp_path / "long.npz", tmp_path / "short.npz"],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert result.stdout.strip() == "same", result.stderr[-3000:]


def tagger():
    model = keras.Sequential(
        [
            keras.Input((None,)),
            keras.layers.Embedding(7, 4, mask_zero=True),
            keras.layers.Dense(3),
            CRF(),
        ]
    )
    model.compile(keras.optimizers.Adam(0.1), CRFLoss(), metrics=[CRFAccuracy()])
    return model


# Padding is 0.
WORDS = np.array([[2, 1, 3, 1], [3, 1, 0, 0], [2, 1, 2, 1], [3, 1, 3, 0]])


def test_a_tagger_learns_what_only_the_tag_before_tells_and_is_saved(tmp_path):
    # The tag of word 1 is 1 after a word 2, and 2 after a word 3.
    words = WORDS
    tags = np.array([[0, 1, 0, 2], [0, 2, 9, 9], [0, 1, 0, 1], [0, 2, 0, 9]])
    tags[words == 2] = 1
    tags[words == 3] = 2
    model = tagger()
    first = model.evaluate(words, tags, verbose=0)[0]
    # 60 batches, each the four sentences: one epoch of them is faster than 60 epochs of one.
    repeated = np.tile(words, (60, 1)), np.tile(tags, (60, 1))
    model.fit(*repeated, batch_size=4, shuffle=False, verbose=0)
    assert model.evaluate(words, tags, verbose=0)[0] < 0.2 * first
    loss, accuracy = model.evaluate(words, tags, batch_size=3, verbose=0)
    assert accuracy == 1
    is_real = words > 0
    outputs = model(words)
    by_hand = np.asarray(CRFLoss(reduction=None)(tags, outputs))[is_real].mean()
    assert model.evaluate(words, tags, verbose=0)[0] == pytest.approx(by_hand, rel=1e-5)
    found = np.asarray(CRFDecoder()(model.predict(words, verbose=0)))
    np.testing.assert_array_equal(found[is_real], tags[is_real])
    model.save(tmp_path / "tagger.keras")
    again = keras.models.load_model(tmp_path / "tagger.keras")
    np.testing.assert_allclose(again.predict(words, verbose=0), outputs, atol=1e-6)
    assert again.evaluate(words, tags, verbose=0)[1] == 1
    assert np.isfinite(again.fit(words, tags, verbose=0).history["loss"][0])
    decoding = keras.Model(again.inputs, CRFDecoder()(again.outputs[0]))
    assert decoding.output_shape == (None, None) and decoding.outputs[0].dtype == "int32"
    np.testing.assert_array_equal(decoding.predict(words, verbose=0)[is_real], tags[is_real])


def test_fit_keeps_what_is_forbidden_and_ends_at_nan(tmp_path):
    words = WORDS
    tags = np.where(words == 1, 0, words - 1)
    model = tagger()
    is_forbidden = np.eye(3)[[2, 1, 1]] > 0  # no pairs 0 2, 1 1 and 2 1
    crf = model.layers[-1]
    crf.transitions.assign(np.where(is_forbidden, -np.inf, 0))
    model.save(tmp_path / "tagger.keras")
    losses = model.fit(words, tags, epochs=2, batch_size=2, verbose=0).history["loss"]
    assert np.isinf(losses).tolist() == [True, True]  # 2 1 3: tags 1 0 2
    tags = np.array([[1, 2, 2, 0], [2, 0, 9, 9], [1, 0, 1, 0], [0, 1, 2, 9]])

    again = keras.models.load_model(tmp_path / "tagger.keras")
    losses = again.fit(words, tags, epochs=2, batch_size=4, verbose=0).history["loss"]
    assert np.isfinite(losses).all() and losses[1] < losses[0]
    transitions = np.asarray(again.layers[-1].transitions)
    np.testing.assert_array_equal(transitions == -np.inf, is_forbidden)
    assert np.isfinite(transitions[~is_forbidden]).all() and transitions.any()
    found = np.asarray(CRFDecoder()(again.predict(words, verbose=0)))
    pairs = is_forbidden[found[:, :-1], found[:, 1:]]
    assert not pairs[words[:, 1:] > 0].any()

    again.layers[-1].transitions.assign(np.full((3, 3), np.nan))
    stop = keras.callbacks.TerminateOnNaN()
    history = again.fit(words, tags, epochs=3, batch_size=4, verbose=0, callbacks=[stop])
    assert len(history.epoch) == 1


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
