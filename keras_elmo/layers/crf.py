"""`CRF`, and the decoder of its outputs."""

from typing import Any

import keras
from keras import ops

from keras_elmo.layers.configured_layer import ConfiguredLayer

# Fills the outputs of a masked token. No logarithm of a probability is above 0, and every float
# dtype holds it exactly. So the mask goes with the outputs to the loss, the metric and the decoder,
# also through files, casts and Keras models that keep no Keras mask.
_MASKED = 1.0
_IMPOSSIBLE = float("-inf")  # the logarithm of the probability 0


@keras.saving.register_keras_serializable("keras_elmo")
class CRF(ConfiguredLayer):
    """A linear-chain conditional random field: the last layer of a tagger.

    A sequence of tags y has the probability

        p(y) = exp(score(y)) / sum over all sequences z of exp(score(z))
        score(y) = start[y_1] + sum_t inputs[t, y_t]
                   + sum_t transitions[y_t-1, y_t] + end[y_T]

    This is a product of the probabilities of each tag after the tag before it. The layer returns
    the logarithms of these, by the forward-backward algorithm, in float32 under every dtype policy.
    `CRFLoss` trains on them, `CRFDecoder` finds the most likely sequence, and `CRFAccuracy`
    compares it with the right one. None of the three needs the layer.

    Forbidden tags: a value of -inf in `inputs`, `start`, `transitions` or `end` gives every
    sequence that needs it the probability 0. Training leaves a transition of -inf as it is, but
    weight decay would make it NaN: use -1e30 there.

    Masking: masked tokens are passed over, wherever they stand and whatever they hold. In the
    result every value of such a token is 1, which no logarithm of a probability can be.

    Args:
        initializer: initializer of `start`, `transitions` and `end`.
        **kwargs: `name`.

    Call arguments:
        inputs: float, (batch, tokens, tags). Scores, of a `Dense` layer without an activation.
        mask: bool, (batch, tokens). `None`: every token is real.

    Returns:
        float32, (batch, tokens, tags, tags). `[b, t, i, j]` is the log-probability that token t
        has tag j, if the token before it has tag i (of a first token, the same for each i). It is
        -inf where no sequence has these two tags, and NaN where the sentence's scores are.

    Raises:
        ValueError: the inputs do not have three axes, or the number of tags is not known.

    Example:

    >>> model = keras.Sequential([
    ...     keras.Input(shape=(None,), dtype="string"),
    ...     keras_elmo.ElmoEmbedding("tiny", tokenizer=None),
    ...     keras.layers.Dense(num_tags),
    ...     keras_elmo.CRF(),
    ... ])
    >>> model.compile("adam", keras_elmo.CRFLoss(), metrics=[keras_elmo.CRFAccuracy()])
    >>> model.fit(keras_elmo.strings(padded_tokens), padded_tags)
    >>> tags = keras_elmo.CRFDecoder()(model.predict(texts))

    Reference: Lafferty et al. 2001; Lample et al. 2016, section 2.2.
    """

    def __init__(self, initializer: Any = "zeros", **kwargs: Any) -> None:
        kwargs.pop("dtype", None)
        super().__init__(dtype="float32", **kwargs)
        self.initializer = keras.initializers.get(initializer)
        self.supports_masking = True

    def build(self, input_shape):
        if len(input_shape) != 3 or input_shape[-1] is None:
            raise ValueError(
                "The inputs must be scores, (batch, tokens, tags), of a known number of tags. "
                f"Received: inputs of shape {tuple(input_shape)}"
            )
        tags, initializer = input_shape[-1], self.initializer
        self.start = self.add_weight((tags,), initializer, name="start")
        self.transitions = self.add_weight((tags, tags), initializer, name="transitions")
        self.end = self.add_weight((tags,), initializer, name="end")

    def call(self, inputs, mask=None):
        emissions = ops.cast(inputs, "float32")
        if mask is None:
            mask = ops.ones_like(emissions[..., 0], dtype="bool")
        is_real = ops.cast(mask, "bool")  # (batch, tokens), like the following
        count = ops.cumsum(ops.cast(is_real, "int32"), axis=1)  # real tokens up to each
        is_first = ops.logical_and(is_real, count == 1)
        is_last = ops.logical_and(is_real, count == count[:, -1:])
        # A masked token may hold NaN, whose gradient would be NaN even where it is not used.
        emissions = ops.where(is_real[..., None], emissions, 0.0)  # (batch, tokens, tags)
        emissions += ops.where(is_first[..., None], ops.convert_to_tensor(self.start), 0.0)
        emissions += ops.where(is_last[..., None], ops.convert_to_tensor(self.end), 0.0)
        messages = self._backward_messages(emissions, is_real)  # (batch, tokens, tags)
        transitions = ops.convert_to_tensor(self.transitions)  # (tag before, tag)
        # No tag stands before the first token: (batch, tokens, tag before, tag), like the rest.
        transitions = ops.where(is_first[..., None, None], 0.0, transitions)
        joint = transitions + (emissions + messages)[:, :, None, :]
        # Each tag's share among all continuations from the tag before it.
        is_dead = _all_impossible(joint)  # (batch, tokens, tag before, 1)
        outputs = ops.log_softmax(ops.where(is_dead, 0.0, joint), axis=-1)
        outputs = ops.where(is_dead, _IMPOSSIBLE, outputs)
        return ops.where(is_real[..., None, None], outputs, _MASKED)

    def _backward_messages(self, emissions, is_real):
        """log of the sum over all continuations after each token and tag, (batch, tokens, tags).

        The maximum of a token is set to 0: only the differences matter, and over a long sentence
        the sums would grow until float32 lost the digits of these.
        """

        def step(message, emission):  # both (batch, tags)
            joint = self.transitions + (emission + message)[:, None, :]  # (batch, tag before, tag)
            before = _log_sum_exp(joint)  # (batch, tag before)
            maximum = ops.max(before, axis=-1, keepdims=True)  # (batch, 1)
            return before - ops.where(ops.isfinite(maximum), maximum, 0.0)

        no_message = ops.zeros_like(emissions[:, 0])  # (batch, tags)
        return masked_scan(step, no_message, emissions, is_real, reverse=True)

    def compute_output_shape(self, input_shape):
        return (*input_shape, input_shape[-1])


@keras.saving.register_keras_serializable("keras_elmo")
class CRFDecoder(keras.layers.Layer):
    """The most likely sequence of tags, by the algorithm of Viterbi.

    It holds no pair of tags of the probability 0, unless every sequence does. A masked token has
    the tag of the token before it.

    Call arguments:
        inputs: float, (batch, tokens, tags, tags). What a `CRF` returns, or `model.predict`.

    Returns:
        int32, (batch, tokens). The index of each token's tag.

    Raises:
        ValueError: the inputs are of another shape.

    Example:

    >>> with_tags = keras.Model(tagger.inputs, keras_elmo.CRFDecoder()(tagger.outputs[0]))

    Reference: Viterbi 1967.
    """

    def __init__(self, **kwargs: Any) -> None:
        kwargs.pop("dtype", None)
        super().__init__(dtype="float32", **kwargs)
        self.supports_masking = True

    def call(self, inputs):
        check_outputs(inputs)
        # A masked token keeps the tag before it, (tag before, tag).
        same_tag = ops.where(ops.eye(inputs.shape[-1], dtype="bool"), 0.0, _IMPOSSIBLE)
        is_real = token_mask(inputs)[..., None, None]  # (batch, tokens, 1, 1)
        steps = ops.where(is_real, inputs, same_tag)  # (batch, tokens, tag before, tag)
        steps = ops.transpose(steps, (1, 0, 2, 3))  # (tokens, batch, tag before, tag)

        def step_back(best_after, step):  # (batch, tag), (batch, tag before, tag)
            return ops.max(step + best_after[:, None, :], axis=-1), best_after

        zeros = ops.zeros_like(steps[0, :, :, 0])  # (batch, tags)
        _, best_after = ops.scan(step_back, zeros, steps, reverse=True)  # (tokens, batch, tags)

        def choose_tag(tag, best_paths):  # (batch,), (batch, tag before, tag)
            from_tag = ops.take_along_axis(best_paths, tag[:, None, None], axis=1)[:, 0]
            tag = _argmax(from_tag)  # (batch,)
            return tag, tag

        # Any tag may stand before the first one: its row is the same for each.
        any_tag = ops.zeros_like(zeros[:, 0], dtype="int32")  # (batch,)
        # (tokens, batch)
        _, tags = ops.scan(choose_tag, any_tag, steps + best_after[:, :, None, :])
        return ops.transpose(tags)

    def compute_output_spec(self, inputs, mask=None):
        check_outputs(inputs)
        return keras.KerasTensor(inputs.shape[:2], dtype="int32")


def best_tags(outputs):
    """The most likely tags, int32 (batch, tokens), of a CRF's outputs, of scores or of tags."""
    if len(outputs.shape) == 2:
        return ops.cast(outputs, "int32")
    return CRFDecoder()(outputs) if len(outputs.shape) == 4 else _argmax(outputs)


def _argmax(values):
    """`ops.argmax` over the last axis, int32: of floats it has operations that TFLite lacks."""
    is_largest = values == ops.max(values, axis=-1, keepdims=True)
    return ops.cast(ops.argmax(ops.cast(is_largest, "int32"), axis=-1), "int32")


def tag_probabilities(outputs):
    """The probability of each tag over all sequences, (batch, tokens, tags), of a CRF's outputs.

    Masked tokens have zeros.
    """
    is_real = token_mask(outputs)  # (batch, tokens)
    num_tags = outputs.shape[-1]
    after = ops.exp(ops.where(is_real[..., None, None], ops.cast(outputs, "float32"), _IMPOSSIBLE))

    def step(before, after):  # (batch, tags), (batch, tags * tags)
        after = ops.reshape(after, (-1, num_tags, num_tags))
        return ops.squeeze(before[:, None, :] @ after, 1)

    # Any tag may stand before the first one: its row is the same for each.
    start = ops.ones_like(after[:, 0, 0]) / num_tags  # (batch, tags)
    flat = ops.reshape(after, (-1, ops.shape(after)[1], num_tags * num_tags))
    before = masked_scan(step, start, flat, is_real)  # (batch, tokens, tags)
    return ops.einsum("bti,btij->btj", before, after)


def masked_scan(step, start, inputs, is_real, reverse=False):
    """The value that each real token's step begins with, (batch, tokens, tags).

    `step` makes the next value of a value, (batch, tags), and a token's inputs, (batch, features).
    """

    def scan_step(value, token):  # (batch, tags), (batch, features + 1)
        return ops.where(token[:, -1:] > 0, step(value, token[:, :-1]), value), value

    # One tensor: Keras's `scan` of several fails on TensorFlow where their length is not fixed.
    tokens = ops.concatenate([inputs, ops.cast(is_real, "float32")[..., None]], axis=-1)
    tokens = ops.transpose(tokens, (1, 0, 2))  # (tokens, batch, features + 1)
    _, values = ops.scan(scan_step, start, tokens, reverse=reverse)  # (tokens, batch, tags)
    return ops.transpose(values, (1, 0, 2))


def check_outputs(outputs):
    if len(outputs.shape) != 4 or outputs.shape[-1] != outputs.shape[-2]:
        raise ValueError(
            "These must be the outputs of a CRF, (batch, tokens, tags, tags): the model must end "
            f"with `CRF`. Received: a tensor of shape {tuple(outputs.shape)}"
        )


def token_mask(outputs):
    return outputs[..., 0, 0] != _MASKED


def _log_sum_exp(values):
    """`ops.logsumexp` over the last axis, whose gradient is finite also where all are -inf."""
    is_dead = _all_impossible(values)
    sums = ops.logsumexp(ops.where(is_dead, 0.0, values), axis=-1)
    return ops.where(is_dead[..., 0], _IMPOSSIBLE, sums)


def _all_impossible(values):
    return ops.all(values == _IMPOSSIBLE, axis=-1, keepdims=True)
