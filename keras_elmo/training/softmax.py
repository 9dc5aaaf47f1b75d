"""`Softmax`: from a biLM's outputs to words."""

import math
from typing import NamedTuple

import keras
from keras import ops

from keras_elmo.annotations import Array
from keras_elmo.layers.rows import take_rows

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
        self.kernel.has_lazy_rows = self.bias.has_lazy_rows = True  # see `LazyAdam`
        self.built = True

    def loss(self, inputs, targets):
        """Minus the log-probability of each target, in nats, float32, (N,)."""
        logits = self._logits(ops.cast(inputs, "float32"))
        target_logits = ops.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        return ops.logsumexp(logits, axis=1) - target_logits

    def _logits(self, inputs):
        kernel, bias = (ops.convert_to_tensor(variable) for variable in (self.kernel, self.bias))
        return ops.matmul(inputs, ops.transpose(kernel)) + bias

    def sampled_losses(self, inputs, targets, negatives, num_draws):
        """The losses of both directions, where each target is compared with samples alone.

        All arguments are pairs, for the forward and the backward direction: inputs and targets;
        `negatives`, int32, (samples,), distinct word ids from log-uniform draws; and the number of
        the draws, int32, (). Logits are corrected for the chance that a word is drawn.

        Returns:
            A pair of floats, (N,), in nats.
        """
        parts = [part for pair in zip(targets, negatives, strict=True) for part in pair]
        word_ids = ops.concatenate(parts)
        # One gather for all, so that the gradients of a row become one.
        kernel, bias = take_rows(self.kernel, word_ids), take_rows(self.bias, word_ids)
        losses, start = [], 0
        for x, target_ids, sample_ids, draws in zip(
            inputs, targets, negatives, num_draws, strict=True
        ):
            x = ops.cast(x, "float32")
            middle = start + ops.shape(target_ids)[0]
            end = middle + ops.shape(sample_ids)[0]
            logits = ops.matmul(x, ops.transpose(kernel[middle:end])) + bias[middle:end]
            logits -= ops.log(self._expected_count(sample_ids, draws))
            # A target that is among the samples counts once.
            logits = ops.where(target_ids[:, None] == sample_ids, -math.inf, logits)
            target_logits = ops.sum(x * kernel[start:middle], axis=1) + bias[start:middle]
            target_logits -= ops.log(self._expected_count(target_ids, draws))
            logits = ops.concatenate([target_logits[:, None], logits], axis=1)
            losses.append(ops.logsumexp(logits, axis=1) - target_logits)
            start = end
        return losses

    def _expected_count(self, word_ids, num_draws):
        word_ids = ops.cast(word_ids, "float32")
        chance = ops.log1p(1 / (word_ids + 1)) / math.log(self.num_words + 1)
        return -ops.expm1(ops.cast(num_draws, "float32") * ops.log1p(-chance))

    def log_probabilities(self, inputs, targets):
        """The log-probability of each target (nats), in bounded memory; without a gradient."""
        return self._in_parts(lambda part: -self.loss(*part), (inputs, targets))

    def top(self, inputs, k):
        """The `k` most likely words, the best first: log-probabilities and ids, both (N, k)."""

        def run(part):
            logits = self._logits(*part)
            values, word_ids = ops.top_k(logits, k)
            return values - ops.logsumexp(logits, axis=1, keepdims=True), word_ids

        return self._in_parts(run, (inputs,))

    def _in_parts(self, function, tensors):
        """Calls a function with some rows of the tensors at a time, and joins its results."""
        count = ops.shape(tensors[0])[0]
        parts = count // max(1, MAX_LOGITS // self.num_words) + 1
        rows = (count + parts - 1) // parts

        def split(x):  # (N, ...) to (parts, rows, ...), with zeros at the end
            padding = [[0, parts * rows - count]] + [[0, 0]] * (len(x.shape) - 1)
            return ops.reshape(ops.pad(x, padding), (parts, rows, *x.shape[1:]))

        tensors = ops.cast(tensors[0], "float32"), *tensors[1:]
        results = ops.map(function, tuple(map(split, tensors)))
        return keras.tree.map_structure(
            lambda x: ops.reshape(x, (parts * rows, *ops.shape(x)[2:]))[:count], results
        )


class Score(NamedTuple):
    """Of a sentence, see `BiLanguageModel.score`."""

    forward: Array
    backward: Array
