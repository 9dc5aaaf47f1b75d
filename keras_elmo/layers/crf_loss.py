"""`CRFLoss` and `CRFAccuracy`, for a model that ends with a `CRF`."""

import keras
from keras import ops

from keras_elmo.layers.crf import CRFDecoder, check_outputs, token_mask, values_before_steps


@keras.saving.register_keras_serializable("keras_elmo")
class CRFLoss(keras.losses.Loss):
    """Minus the log-likelihood of the right tags, for a model that ends with a `CRF`.

    Each token has a loss of its own, minus the log-probability of its tag after the right tag
    before it, and the loss of a sentence is their sum. Keras takes the mean over the real tokens
    of a batch, as it does for a tagger that ends with a softmax.

    Args:
        reduction: see `keras.losses.Loss`.
        name: string.

    Call arguments:
        y_true: int, (batch, tokens). What it holds for masked tokens does not matter.
        y_pred: float, (batch, tokens, tags, tags). What a `CRF` returns.
    """

    def __init__(self, reduction="sum_over_batch_size", name="crf_loss"):
        super().__init__(name=name, reduction=reduction, dtype="float32")

    def call(self, y_true, y_pred):
        check_outputs(y_pred)
        numbers = _tag_numbers(y_true)
        tags = ops.one_hot(numbers, y_pred.shape[-1])  # (batch, tokens, tags)
        mask = token_mask(y_pred)

        # Any tag may stand before the first one: its probability is the same after each.
        start = ops.one_hot(ops.zeros_like(numbers[:, 0]), y_pred.shape[-1])
        before = values_before_steps(lambda _, tag: tag, start, tags, mask)
        likelihoods = ops.einsum("bti,btij,btj->bt", before, y_pred, tags)
        return ops.where(mask, -likelihoods, 0.0)

    def get_config(self):
        return {"reduction": self.reduction, "name": self.name}


@keras.saving.register_keras_serializable("keras_elmo")
class CRFAccuracy(keras.metrics.Mean):
    """The share of the real tokens whose tag is right in the most likely sequence.

    Args:
        name: string.

    Call arguments:
        y_true: int, (batch, tokens).
        y_pred: float, (batch, tokens, tags, tags). What a `CRF` returns.
        sample_weight: float, (batch,) or (batch, tokens), or `None`.
    """

    def __init__(self, name="accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self._decoder = CRFDecoder()

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = ops.convert_to_tensor(y_true), ops.convert_to_tensor(y_pred)
        is_right = self._decoder(y_pred) == _tag_numbers(y_true)
        weights = ops.cast(token_mask(y_pred), "float32")
        if sample_weight is not None:
            sample_weight = ops.cast(sample_weight, "float32")
            if len(sample_weight.shape) == 1:
                sample_weight = sample_weight[:, None]
            weights = weights * sample_weight
        super().update_state(ops.cast(is_right, "float32"), weights)

    def get_config(self):
        return {"name": self.name, "dtype": self.dtype}


def _tag_numbers(y_true):
    """The right tags, int32, (batch, tokens)."""
    if len(y_true.shape) == 3 and y_true.shape[-1] == 1:
        y_true = ops.squeeze(y_true, -1)
    if len(y_true.shape) != 2:
        raise ValueError(
            "The right tags must be integers, (batch, tokens). "
            f"Received: a tensor of shape {tuple(y_true.shape)}"
        )
    return ops.cast(y_true, "int32")
