from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo.layers.bilm import shapes_agree
from keras_elmo.layers.configured_layer import ConfiguredLayer

_EPSILON = 1e-12  # the original's; it avoids a division by zero


@keras.saving.register_keras_serializable("keras_elmo")
class ScalarMix(ConfiguredLayer):
    """A learned weighted sum of layers.

        y = gamma * sum_k softmax(w)_k h_k

    With `do_layer_norm`, each `h_k` is first normalised by its mean and variance over every
    unmasked element of the *batch* (so a sentence's result depends on its neighbours).

    Masking: reads the mask of its first input (or `mask`) for the layer norm, and passes it on.

    Args:
        do_layer_norm: bool. Normalise each layer before mixing.
        initial_scalars: the initial values of `w`: a sequence of floats, one for each input, or
            `None` for zeros, which give every layer the same weight.
        regularizer: regularizer of `w`. The original's is `keras.regularizers.L2(1e-3)`, which
            pulls the result towards the plain average.
        trainable: bool. `False` freezes `w` and gamma.

    Call arguments:
        inputs: list of floats of the same shape, (..., features). It may hold any number of layers
            of any model.
        mask: bool, (...), or a list of masks, of which the first that is not `None` is used.

    Returns:
        float, (..., features).

    Raises:
        ValueError: the inputs are not a list or differ in shape, or their number is not that of
            `initial_scalars`, or not that with which the layer was built.

    Example:

    >>> layers = [keras.ops.ones((2, 3, 8))] * 3
    >>> ScalarMix(initial_scalars=[-9.0, -9.0, 9.0])(layers).shape
    (2, 3, 8)

    Reference: Peters et al. 2018, equation 1; `weight_layers` in bilm-tf's bilm/elmo.py.
    """

    def __init__(
        self,
        do_layer_norm: bool = False,
        initial_scalars: Sequence[float] | None = None,
        regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.do_layer_norm = bool(do_layer_norm)
        self.initial_scalars = (
            None if initial_scalars is None else [float(scalar) for scalar in initial_scalars]
        )
        self.regularizer = keras.regularizers.get(regularizer)
        self.supports_masking = True

    def build(self, input_shape):
        if not all(isinstance(shape, list | tuple) for shape in input_shape):
            raise ValueError(
                "The inputs must be a list of tensors of one shape: call it as mix([h0, h1, h2]). "
                f"Received: a single input of shape {input_shape}"
            )
        num_inputs = len(input_shape)
        scalars = [0.0] * num_inputs if self.initial_scalars is None else self.initial_scalars
        if len(scalars) != num_inputs:
            raise ValueError(
                "`initial_scalars` must hold one value for each input. "
                f"Received: initial_scalars={scalars}, and {num_inputs} inputs"
            )
        self.scalars = self.add_weight(
            name="scalars",
            shape=(num_inputs,),
            initializer=lambda shape, dtype: ops.convert_to_tensor(scalars, dtype),
            regularizer=self.regularizer,
        )
        self._check(input_shape)
        self.gamma = self.add_weight(name="gamma", shape=(), initializer="ones")

    def _check(self, shapes):
        shapes = [tuple(shape) for shape in shapes]
        if not all(shapes_agree(shape, shapes[0]) for shape in shapes):
            raise ValueError(
                f"The inputs of ScalarMix must have one shape. Received: shapes {shapes}"
            )
        if len(shapes) != self.scalars.shape[0]:
            raise ValueError(
                f"There must be {self.scalars.shape[0]} inputs, as when the layer was built. "
                f"Received: {len(shapes)} inputs"
            )

    def call(self, inputs, mask=None):
        self._check([layer.shape for layer in inputs])
        weights = ops.softmax(self.scalars)
        if self.do_layer_norm:
            mask = _first_mask(mask)
            inputs = [_normalize(layer, mask) for layer in inputs]
        mixed = sum(weights[k] * layer for k, layer in enumerate(inputs))
        return self.gamma * mixed

    def compute_mask(self, inputs, mask=None):
        return _first_mask(mask)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[0])


def _first_mask(mask):
    if isinstance(mask, list | tuple):
        return next((m for m in mask if m is not None), None)
    return mask


def _normalize(layer, mask):
    """Gives the unmasked elements of a layer the mean 0 and the variance 1."""
    # The statistics need float32: a sum over a batch overflows float16, and is rounded in bfloat16.
    x = ops.cast(layer, "float32")
    weights = ops.ones_like(x)  # (..., features): 1 where an element counts
    if mask is not None:
        # TFLite has no slices with new axes.
        weights = weights * ops.expand_dims(ops.cast(mask, "float32"), -1)
    count = ops.maximum(ops.sum(weights), 1.0)
    mean = ops.sum(x * weights) / count
    variance = ops.sum(ops.square((x - mean) * weights)) / count
    return ops.cast((x - mean) * ops.rsqrt(variance + _EPSILON), layer.dtype)
