import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.softmax import Softmax


@pytest.mark.parametrize("has_targets", [False, True])
def test_the_sampled_loss_and_its_gradients_are_those_of_tensorflow(has_targets):
    """Also where a target is among the samples."""
    rng = np.random.default_rng(0)
    num_words, size, count = 40, 6, 20
    softmax = Softmax(num_words, size)
    softmax.bias.assign(rng.normal(size=num_words))
    x = tf.Variable(rng.normal(size=(2, count, size)), dtype=tf.float32)
    targets = tf.constant(rng.integers(0, num_words // 2, (2, count)), tf.int32)
    first = 0 if has_targets else num_words // 2
    negatives = [first + rng.permutation(num_words // 2)[:9] for _ in range(2)]
    negatives = tf.constant(np.stack(negatives), tf.int32)
    variables = [x, softmax.kernel.value, softmax.bias.value]

    def expected_loss(x, targets, negatives):
        k = np.arange(num_words)
        chances = np.log((k + 2) / (k + 1)) / np.log(num_words + 1)
        expected_count = tf.constant(-np.expm1(50 * np.log1p(-chances)), tf.float32)
        labels, sampled = tf.cast(targets, tf.int64)[:, None], tf.cast(negatives, tf.int64)
        counts = (tf.gather(expected_count, ids) for ids in (labels, sampled))
        return tf.nn.sampled_softmax_loss(
            *variables[1:], labels, x, 9, num_words, sampled_values=(sampled, *counts)
        )

    results = []
    pairs = [tf.unstack(values) for values in (targets, negatives)]
    draws = [tf.constant(50)] * 2
    for loss_of in (
        lambda: softmax.sampled_losses(tf.unstack(x), *pairs, draws),
        lambda: [expected_loss(x[k], targets[k], negatives[k]) for k in range(2)],
    ):
        with tf.GradientTape() as tape:
            loss = tf.stack(loss_of())
        gradients = tape.gradient(loss, variables)
        assert isinstance(gradients[1], tf.IndexedSlices)  # not as large as the vocabulary
        if not results:  # each row of the softmax once
            assert len(np.unique(gradients[1].indices)) == len(gradients[1].indices)
        results.append([loss, *map(tf.convert_to_tensor, gradients)])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
        assert np.abs(expected).max() > 0


def test_parts_change_nothing(monkeypatch):
    softmax = Softmax(9, 4)
    x = tf.random.stateless_normal((7, 4), (0, 1))
    targets = tf.range(7)

    def results(count):
        values, word_ids = softmax.top(x[:count], 3)
        return softmax.log_probabilities(x[:count], targets[:count]), values, word_ids

    whole = [results(count) for count in (7, 1, 0)]
    assert [tensor.shape.as_list() for tensor in whole[-1]] == [[0], [0, 3], [0, 3]]
    np.testing.assert_allclose(whole[0][0], -softmax.loss(x, targets), atol=1e-6)
    monkeypatch.setattr("keras_elmo.training.softmax.MAX_LOGITS", 2 * 9)
    parts = [results(count) for count in (7, 1, 0)]
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6), parts, whole)
