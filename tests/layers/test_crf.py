import itertools
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.layers import CRF, CRFAccuracy, CRFDecoder, CRFLoss


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


def test_200_random_cases_equal_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(40):
        layer, scores, mask = random_case(rng, batch=5)
        totals = np.asarray(layer.log_partition(scores, mask))
        outputs = layer(scores, mask=mask)
        found = np.asarray(CRFDecoder()(outputs))
        right = rng.integers(0, scores.shape[2], mask.shape)
        right[~mask] = 99  # what is masked need not be a tag
        losses = np.asarray(CRFLoss(reduction=None)(right, outputs))
        for row, is_real in enumerate(mask):
            expected = brute_force(layer, scores[row], is_real, right[row])
            best = score_of(layer, scores[row, is_real], found[row, is_real])
            actual = totals[row], best, -losses[row].sum()
            np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)
            assert not losses[row, ~is_real].any()


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


@pytest.mark.parametrize("value", [-np.inf, -1e30])
def test_forbidden_tags_equal_brute_force(value):
    rng = np.random.default_rng(4)
    seen = dict.fromkeys(("right", "wrong", "impossible"), 0)
    for _ in range(40):
        layer, scores, mask = random_case(rng, batch=5)
        forbid_at_random(rng, layer, scores, value)
        totals = np.asarray(layer.log_partition(scores, mask))
        outputs = layer(scores, mask=mask)
        assert np.all(np.asarray(outputs)[mask] <= 0)
        found = np.asarray(CRFDecoder()(outputs))
        # The most likely tags of some sentences, which are possible, and any tags of others.
        right = np.where(rng.random((5, 1)) < 0.6, found, rng.integers(0, scores.shape[2], (5, 1)))
        right[~mask] = 99
        expected = [brute_force(layer, *case) for case in zip(scores, mask, right, strict=True)]
        is_finite = np.array([row[2] > -1e20 and row[0] > -1e20 for row in expected])
        losses, gradients = losses_and_gradients(layer, scores, mask, right, is_finite)
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
            assert not losses[row, ~is_real].any()
        for gradient in gradients:
            assert np.all(np.isfinite(gradient))
    assert min(seen.values()) > 20


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


def test_the_outputs_are_probabilities():
    layer, scores, mask = random_case(np.random.default_rng(3))
    outputs = np.asarray(layer(scores, mask=mask))
    np.testing.assert_allclose(np.exp(outputs[mask]).sum(-1), 1, atol=1e-5)
    assert np.all(outputs[~mask] == 1)


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


SCRIPT = """
import numpy as np, keras
from keras_elmo.layers import CRF, CRFDecoder, CRFLoss
import jax
assert keras.backend.backend() == "jax"
case = np.load({case!r})
layer = CRF(); layer.build((None, None, case["scores"].shape[-1]))
layer.set_weights([case["w0"], case["w1"], case["w2"]])
outputs = layer(case["scores"], mask=case["mask"])
np.testing.assert_allclose(outputs, case["outputs"], atol=1e-5)
np.testing.assert_array_equal(CRFDecoder()(outputs), case["tags"])
def loss(weights, scores):
    outputs, _ = layer.stateless_call(weights, [], scores, mask=case["mask"])
    return CRFLoss(reduction="sum")(case["right"], outputs)
value, (gradients, of_scores) = jax.value_and_grad(loss, argnums=(0, 1))(
    [v.value for v in layer.trainable_variables], case["scores"])
np.testing.assert_allclose(value, case["loss"], rtol=1e-5)
for k, gradient in enumerate([*gradients, of_scores]):
    assert np.all(np.isfinite(gradient)) and np.any(gradient)
    np.testing.assert_allclose(gradient, case[f"g{{k}}"], atol=1e-4)

# 200 short cases, in which a quarter of the weights is forbidden.
layer.set_weights([case["f0"], case["f1"], case["f2"]])
scores, mask = case["short_scores"], case["short_mask"]
outputs = layer(scores, mask=mask)
tags = CRFDecoder()(outputs)
losses = CRFLoss(reduction=None)(case["short_right"], outputs)
np.savez({found!r}, totals=layer.log_partition(scores, mask), tags=tags, losses=losses)
def loss(weights, scores):
    outputs, _ = layer.stateless_call(weights, [], scores, mask=mask)
    return CRFLoss(reduction="sum")(tags, outputs)
value, gradients = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))(
    [v.value for v in layer.trainable_variables], scores)
for gradient in [value, *gradients[0], gradients[1]]:
    assert np.all(np.isfinite(gradient)) and np.any(gradient)
assert np.isnan(CRFLoss()(tags, layer(np.where(mask[..., None], np.nan, scores), mask=mask)))
print("same")
"""


def test_jax_gives_the_same(tmp_path):
    pytest.importorskip("jax")
    rng = np.random.default_rng(2)
    layer = CRF(initializer=keras.initializers.RandomNormal(stddev=1.0))
    scores = rng.normal(size=(3, 100, 5)).astype(np.float32)
    mask = rng.random((3, 100)) < 0.8
    right = rng.integers(0, 5, (3, 100))
    layer.build(scores.shape)
    with tf.GradientTape() as tape:
        variable = tf.Variable(scores)
        outputs = layer(variable, mask=mask)
        loss = CRFLoss(reduction="sum")(right, outputs)
    gradients = tape.gradient(loss, [*(v.value for v in layer.trainable_variables), variable])
    arrays = {f"w{k}": v.numpy() for k, v in enumerate(layer.trainable_variables)}
    arrays |= {f"g{k}": g.numpy() for k, g in enumerate(gradients)}
    tags = CRFDecoder()(outputs)
    # And 200 short cases for brute force, with forbidden tags, and with NaN in masked tokens.
    short = {
        "short_scores": rng.normal(size=(200, 3, 5), scale=2).astype(np.float32),
        "short_mask": rng.random((200, 3)) < 0.8,
        "short_right": rng.integers(0, 5, (200, 3)),
    }
    short["short_scores"][~short["short_mask"]] = np.nan
    forbid_at_random(rng, layer, np.zeros(0), -np.inf)
    assert layer.transitions.numpy().min() == -np.inf
    arrays |= {f"f{k}": v.numpy() for k, v in enumerate(layer.trainable_variables)}
    case, found = str(tmp_path / "case.npz"), str(tmp_path / "found.npz")
    arrays |= {"outputs": outputs, "tags": tags, "loss": loss, **short}
    np.savez(case, scores=scores, mask=mask, right=right, **arrays)
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(case=case, found=found)],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert result.stdout.strip() == "same", result.stderr[-3000:]
    with np.load(found) as arrays:
        totals, tags, losses = arrays["totals"], arrays["tags"], arrays["losses"]
    for row, case in enumerate(zip(*short.values(), strict=True)):
        best = score_of(layer, case[0][case[1]], tags[row, case[1]])
        actual = totals[row], best, -losses[row].sum()
        np.testing.assert_allclose(actual, brute_force(layer, *case), rtol=0, atol=1e-5)
    assert 20 < np.isinf(losses).any(axis=1).sum() < 180


def tagger():
    return keras.Sequential(
        [
            keras.Input((None,)),
            keras.layers.Embedding(7, 4, mask_zero=True),
            keras.layers.Dense(3),
            CRF(),
        ]
    )


def test_a_tagger_learns_what_only_the_tag_before_tells_and_is_saved(tmp_path):
    # The tag of word 1 is 1 after a word 2, and 2 after a word 3; padding is 0.
    words = np.array([[2, 1, 3, 1], [3, 1, 0, 0], [2, 1, 2, 1], [3, 1, 3, 0]])
    tags = np.array([[0, 1, 0, 2], [0, 2, 9, 9], [0, 1, 0, 1], [0, 2, 0, 9]])
    tags[words == 2] = 1
    tags[words == 3] = 2
    model = tagger()
    model.compile(keras.optimizers.Adam(0.1), CRFLoss(), metrics=[CRFAccuracy()])
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
    words = np.array([[2, 1, 3, 1], [3, 1, 0, 0], [2, 1, 2, 1], [3, 1, 3, 0]])
    tags = np.where(words == 1, 0, words - 1)
    model = tagger()
    model.compile(keras.optimizers.Adam(0.1), CRFLoss(), metrics=[CRFAccuracy()])
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
        (lambda: CRF()(np.ones((2, 3))), r"\(batch, tokens, tags\).*\(2, 3\)"),
        (lambda: CRF().build((None, None, None)), "known number of tags"),
        (lambda: CRFLoss()(np.ones((2, 3)), np.ones((2, 3, 4))), r"end with `CRF`.*\(2, 3, 4\)"),
        (lambda: CRFDecoder()(np.ones((2, 3, 4))), r"end with `CRF`.*\(2, 3, 4\)"),
        (lambda: CRFLoss()(np.ones((2,)), np.ones((2, 3, 4, 4))), r"\(batch, tokens\).*\(2,\)"),
    ],
)
def test_wrong_shapes(call, message):
    with pytest.raises(ValueError, match=message):
        call()
