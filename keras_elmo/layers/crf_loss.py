"""`CRFLoss` and `CRFAccuracy`, for a model that ends with a `CRF`."""

from typing import Any

import keras
from keras import ops

from keras_elmo.layers.crf import best_tags, check_outputs, masked_scan, token_mask


@keras.saving.register_keras_serializable("keras_elmo")
class CRFLoss(keras.losses.Loss):
    """The negative log-likelihood of the right tags, for a model that ends with a `CRF`.

    Each token has a loss of its own, minus the log-probability of its tag after the right tag
    before it, and the loss of a sentence is their sum.

    Where the right tags are forbidden, the loss is +inf. Where the scores are NaN, or a right tag
    is not one of the model's, it is NaN. (A sample weight of 0 cannot take such a sentence out: 0
    times infinity is NaN. Take it out of the data.)

    Masking: masked tokens have a loss of 0. The mean is that of the real tokens where the outputs
    have their Keras mask, as in `fit` and `evaluate`; of stored outputs it is that of all tokens.

    Args:
        reduction: see `keras.losses.Loss`.

    Call arguments:
        y_true: int, (batch, tokens). What it holds for masked tokens does not matter.
        y_pred: float, (batch, tokens, tags, tags). What a `CRF` returns.
    """

    def __init__(
        self, reduction: str | None = "sum_over_batch_size", name: str = "crf_loss"
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def call(self, y_true, y_pred):
        check_outputs(y_pred)
        indices = tag_indices(y_true)  # (batch, tokens)
        is_real = token_mask(y_pred)  # (batch, tokens)
        tags = ops.one_hot(indices, y_pred.shape[-1])  # (batch, tokens, tags)
        # Any tag may stand before the first one: its probability is the same after each.
        start = ops.one_hot(ops.zeros_like(indices[:, 0]), y_pred.shape[-1])  # (batch, tags)
        before = masked_scan(lambda _, tag: tag, start, tags, is_real)  # (batch, tokens, tags)

        # The one value of each token is chosen, since 0 times -inf would be NaN.
        is_pair = before[..., :, None] * tags[..., None, :] > 0  # (batch, tokens, tags, tags)
        losses = -ops.sum(ops.where(is_pair, y_pred, 0.0), axis=(2, 3))  # (batch, tokens)
        losses = ops.where(ops.any(tags > 0, axis=-1), losses, float("nan"))
        return ops.where(is_real, losses, 0.0)


@keras.saving.register_keras_serializable("keras_elmo")
class CRFAccuracy(keras.metrics.Mean):
    """The share of the real tokens whose tag is right in the most likely sequence.

    It is exact over all the data, also without a CRF. (Keras's own accuracy is the mean over
    batches, in which a token of a wide batch counts less.)

    Call arguments:
        y_true: int, (batch, tokens). The right tags; without a CRF negative for padding.
        y_pred: float, (batch, tokens, tags, tags), what a `CRF` returns; float, (batch, tokens,
            tags), scores of the tags; or int, (batch, tokens), tags.
        sample_weight: float, (batch,) or (batch, tokens), or `None`.
    """

    def __init__(self, name: str = "accuracy", dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = tag_indices(ops.convert_to_tensor(y_true)), ops.convert_to_tensor(y_pred)
        is_right = ops.cast(best_tags(y_pred) == y_true, "float32")  # (batch, tokens)
        is_real = token_mask(y_pred) if len(y_pred.shape) == 4 else y_true >= 0
        weights = ops.cast(is_real, "float32")  # (batch, tokens)
        if sample_weight is not None:
            weights *= of_tokens(sample_weight)
        # Flat: of (batch, tokens) Keras would take the mean over the tokens first.
        super().update_state(ops.reshape(is_right, (-1,)), ops.reshape(weights, (-1,)))


def of_tokens(sample_weight):
    """Weights of sentences or of tokens as (batch, tokens) or (batch, 1), float32."""
    weights = ops.cast(sample_weight, "float32")
    return weights[:, None] if len(weights.shape) == 1 else weights


def tag_indices(y_true):
    """The right tags as int32, (batch, tokens)."""
    if len(y_true.shape) == 3 and y_true.shape[-1] == 1:
        y_true = ops.squeeze(y_true, -1)
    if len(y_true.shape) != 2:
        raise ValueError(
            "The right tags must be integers, (batch, tokens). "
            f"Received: a tensor of shape {tuple(y_true.shape)}"
        )
    return ops.cast(y_true, "int32")
