from typing import Any

import keras
from keras import ops

from keras_elmo.layers.configured_layer import ConfiguredLayer
from keras_elmo.layers.matmul import matmul


@keras.saving.register_keras_serializable("keras_elmo")
class Highway(ConfiguredLayer):
    """A highway layer: a gate between a transformed input and the input itself.

        g = sigmoid(x W_carry + b_carry)
        y = g * activation(x W_transform + b_transform) + (1 - g) * x

    As in the original, the gate called "carry" opens for the *transformed* input.

    Masking: passes the mask on.

    Args:
        activation: name or callable, applied to the transformed input. The original's is `"relu"`.
        kernel_initializer: initializer of both kernels.

    Call arguments:
        inputs: float, (..., features).

    Returns:
        float, (..., features).

    Raises:
        ValueError: the number of features is not known.

    Example:

    >>> Highway()(keras.ops.ones((2, 3, 8))).shape
    (2, 3, 8)

    Reference: Srivastava et al. 2015, "Highway Networks"; `high` in bilm-tf's bilm/model.py.
    """

    def __init__(
        self, activation: Any = "relu", kernel_initializer: Any = "glorot_uniform", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.activation = keras.activations.get(activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_masking = True

    def build(self, input_shape):
        features = input_shape[-1]
        if features is None:
            raise ValueError(
                "The last axis of a Highway layer's input must be known. "
                f"Received: input shape {tuple(input_shape)}"
            )
        self.carry_kernel = self.add_kernel("carry_kernel", features, features)
        # The gate starts at sigmoid(-2) = 0.12, as in the original: the output is mostly the input.
        initializer = keras.initializers.Constant(-2.0)
        self.carry_bias = self.add_weight((features,), initializer, name="carry_bias")
        self.transform_kernel = self.add_kernel("transform_kernel", features, features)
        self.transform_bias = self.add_weight((features,), "zeros", name="transform_bias")

    def call(self, inputs, training=False):
        # TensorFlow has a fast gradient for the bias of `ops.add`, and none for that of `+`.
        gate = ops.sigmoid(ops.add(matmul(inputs, self.carry_kernel, training), self.carry_bias))
        transformed = self.activation(
            ops.add(matmul(inputs, self.transform_kernel, training), self.transform_bias)
        )
        return inputs + gate * (transformed - inputs)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)
