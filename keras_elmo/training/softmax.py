"""`Softmax`: from a biLM's outputs to words."""

import math
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_elmo.annotations import Array

MAX_LOGITS = 1 << 24  # computed at a time if there is no gradient: 64 MB of float32


class Softmax(keras.layers.Layer):
    """The output layer of a language model, over a vocabulary sorted by frequency; float32 always.

    Inputs are floats, (N, projection_dim), the outputs of one direction. Targets are the ids of
    words, int32, (N,). `kernel_initializer=None` draws the kernel as the original does.

    Reference: Jean et al. 2015, section 3; `_build_loss` in bilm-tf's bilm/training.py.
    """

    def __init__(self, num_words, projection_dim, kernel_initializer=None, **kwargs):
        super().__init__(dtype="float32", **kwargs)
        self.num_words = num_words
        self.projection_dim = projection_dim
        if kernel_initializer is None:
            kernel_initializer = keras.initializers.RandomNormal(stddev=projection_dim**-0.5)
        self.kernel_initializer = kernel_initializer
        self.build()

    def build(self, input_shape=None):
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.num_words, self.projection_dim),
            initializer=self.kernel_initializer,
            autocast=False,
        )
        self.bias = self.add_weight(
            name="bias", shape=(self.num_words,), initializer="zeros", autocast=False
        )
        self.built = True

    def loss(self, inputs, targets, negatives=None, num_draws=None):
        """Minus the log-probability of each target, in nats, float32, (N,).

        With `negatives`, distinct word ids from `num_draws` log-uniform draws, each target is
        compared with these alone, and logits are corrected for the chance that a word is drawn.
        """
        inputs = tf.cast(inputs, tf.float32)
        if negatives is None:
            logits = tf.matmul(inputs, self.kernel.value, transpose_b=True) + self.bias.value
            return tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits)
        # `tf.nn.sampled_softmax_loss` gives the same, and makes a training step an eighth longer.
        num_targets = tf.size(targets)
        word_ids = tf.concat([targets, negatives], 0)
        # One gather for both, so that their gradients become one.
        kernel, bias = tf.gather(self.kernel.value, word_ids), tf.gather(self.bias.value, word_ids)
        logits = tf.matmul(inputs, kernel[num_targets:], transpose_b=True)
        logits += bias[num_targets:] - tf.math.log(self._expected_count(negatives, num_draws))
        # A target that is among the samples counts once.
        logits = tf.where(targets[:, None] == negatives, -math.inf, logits)
        target_logits = tf.reduce_sum(inputs * kernel[:num_targets], axis=1) + bias[:num_targets]
        target_logits -= tf.math.log(self._expected_count(targets, num_draws))
        logits = tf.concat([target_logits[:, None], logits], axis=1)
        return tf.reduce_logsumexp(logits, axis=1) - target_logits

    def _expected_count(self, word_ids, num_draws):
        word_ids = tf.cast(word_ids, tf.float32)
        chance = tf.math.log1p(1 / (word_ids + 1)) / math.log(self.num_words + 1)
        return -tf.math.expm1(tf.cast(num_draws, tf.float32) * tf.math.log1p(-chance))

    def log_probabilities(self, inputs, targets):
        """The log-probability of each target (nats), in bounded memory; without a gradient."""
        return self._in_parts(
            lambda x, word_ids: -self.loss(x, word_ids), (inputs, targets), tf.TensorSpec([None])
        )

    def top(self, inputs, k):
        """The `k` most likely words, the best first: log-probabilities and ids, both (N, k)."""

        def run(x):
            logits = tf.matmul(x, self.kernel.value, transpose_b=True) + self.bias.value
            values, word_ids = tf.math.top_k(logits, k)
            return values - tf.reduce_logsumexp(logits, axis=1, keepdims=True), word_ids

        specs = tf.TensorSpec([None, None]), tf.TensorSpec([None, None], tf.int32)
        return self._in_parts(run, (inputs,), specs)

    def _in_parts(self, function, tensors, specs):
        """Calls a function with some rows of the tensors at a time, and joins its results."""
        count = tf.shape(tensors[0])[0]
        parts = tf.maximum(1, -(-count // max(1, MAX_LOGITS // self.num_words)))
        rows = -(-count // parts)

        def split(x):  # (N, ...) to (parts, rows, ...), with zeros at the end
            padding = [[0, parts * rows - count]] + [[0, 0]] * (x.shape.rank - 1)
            return tf.reshape(tf.pad(x, padding), [parts, rows, *x.shape[1:]])

        tensors = (tf.cast(tensors[0], tf.float32), *tensors[1:])
        results = tf.map_fn(
            lambda part: function(*part), tuple(map(split, tensors)), fn_output_signature=specs
        )
        return tf.nest.map_structure(
            lambda x: tf.reshape(x, tf.concat([[parts * rows], tf.shape(x)[2:]], 0))[:count],
            results,
        )


class Score(NamedTuple):
    """Of a sentence, see `BiLanguageModel.score`."""

    forward: Array
    backward: Array


def perplexities(forward, backward):
    """The perplexities of both directions, and of both together, from their losses (nats)."""
    return {
        "forward": float(np.exp(forward)),
        "backward": float(np.exp(backward)),
        "perplexity": float(np.exp((forward + backward) / 2)),
    }
