import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.softmax import Softmax, perplexities


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


def test_perplexities_of_losses():
    assert perplexities(np.log(2.0), np.log(8.0)) == {
        "forward": pytest.approx(2),
        "backward": pytest.approx(8),
        "perplexity": pytest.approx(4),
    }
