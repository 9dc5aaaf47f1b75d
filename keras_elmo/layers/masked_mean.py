from typing import Any

import keras
from keras import ops


@keras.saving.register_keras_serializable("keras_elmo")
class MaskedMean(keras.layers.Layer):
    """The mean over a sentence's real tokens.

    A sentence without tokens gives zeros.

    Masking: reads the mask, and does not pass it on, since the result has no token axis.

    Call arguments:
        inputs: float, (batch, tokens, features).
        mask: bool, (batch, tokens), or `None` when every token is real.

    Returns:
        float, (batch, features).

    Example:

    >>> MaskedMean()(keras.ops.ones((2, 3, 8))).shape
    (2, 8)

    Reference: the `default` output of the TF Hub module `google/elmo`.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        if mask is None:
            mask = ops.ones_like(inputs[..., 0], dtype="bool")
        mask = ops.expand_dims(mask, -1)  # (batch, tokens, 1)
        # The sum needs float32: over a long sentence it overflows float16, and bfloat16 rounds it.
        real = ops.where(mask, ops.cast(inputs, "float32"), 0.0)  # (batch, tokens, features)
        count = ops.sum(ops.cast(mask, "float32"), axis=-2)  # (batch, 1)
        return ops.cast(ops.sum(real, axis=-2) / ops.maximum(count, 1.0), inputs.dtype)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-2], input_shape[-1])
