import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.training.softmax import Softmax, perplexities


@pytest.mark.parametrize("seed", range(3))
def test_the_sampled_loss(seed):
    rng = np.random.default_rng(seed)
    softmax = Softmax(9, 4)
    softmax.bias.assign(rng.normal(size=9))
    x = rng.normal(size=(5, 4)).astype(np.float32)
    targets, negatives = rng.integers(0, 9, 5), rng.permutation(9)[:3]
    loss = softmax.loss(
        tf.constant(x), tf.constant(targets, tf.int32), tf.constant(negatives, tf.int32), 7
    )
    k = np.arange(9)
    expected_count = -np.expm1(7 * np.log1p(-np.log((k + 2) / (k + 1)) / np.log(10)))
    logits = x @ softmax.kernel.numpy().T + softmax.bias.numpy() - np.log(expected_count)
    for row, target, value in zip(logits, targets, loss.numpy(), strict=True):
        others = [n for n in negatives if n != target]
        chances = np.exp(row[[target, *others]])
        assert value == pytest.approx(-np.log(chances[0] / chances.sum()), abs=1e-4)
    full = softmax.loss(tf.constant(x), tf.constant(targets, tf.int32))
    parts = softmax.log_probabilities(tf.constant(x), tf.constant(targets, tf.int32))
    np.testing.assert_allclose(full, -parts, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_sampled_loss_and_its_gradients_are_those_of_tensorflow(seed):
    rng = np.random.default_rng(seed)
    num_words, size, count, samples = rng.integers([20, 2, 1, 1], [60, 9, 30, 10])
    softmax = Softmax(int(num_words), int(size))
    softmax.bias.assign(rng.normal(size=num_words))
    x = tf.Variable(rng.normal(size=(count, size)), dtype=tf.float32)
    targets = tf.constant(rng.integers(0, num_words, count), tf.int32)
    negatives = tf.constant(rng.permutation(num_words)[:samples], tf.int32)
    if seed:
        negatives = tf.unique(tf.concat([targets[:1], negatives], 0))[0]
    variables = [x, softmax.kernel.value, softmax.bias.value]

    def expected_loss():
        labels = tf.cast(targets, tf.int64)[:, None]
        expected_count = softmax._expected_count
        sampled = tf.cast(negatives, tf.int64), expected_count(labels, 50)
        return tf.nn.sampled_softmax_loss(
            *(variables[1:]),
            labels,
            x,
            num_sampled=tf.size(negatives),
            num_classes=num_words,
            sampled_values=(*sampled, expected_count(negatives, 50)),
        )

    results = []
    for loss_of in (lambda: softmax.loss(x, targets, negatives, 50), expected_loss):
        with tf.GradientTape() as tape:
            loss = loss_of()
        gradients = tape.gradient(loss, variables)
        assert isinstance(gradients[1], tf.IndexedSlices)  # not as large as the vocabulary
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
    monkeypatch.setattr("keras_elmo.training.softmax.MAX_LOGITS", 2 * 9)
    parts = [results(count) for count in (7, 1, 0)]
    tf.nest.map_structure(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6), parts, whole)


def test_perplexities_of_losses():
    assert perplexities(np.log(2.0), np.log(8.0)) == {
        "forward": pytest.approx(2),
        "backward": pytest.approx(8),
        "perplexity": pytest.approx(4),
    }
