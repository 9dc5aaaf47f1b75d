"""`give_symbolic_mask`: the mask of a Keras model's output, where the output is still symbolic."""

import keras


@keras.saving.register_keras_serializable("keras_elmo")
class MaskOf(keras.Operation):
    """The mask that a tensor carries when the model runs.

    Call arguments:
        inputs: float, (batch, tokens, features).

    Returns:
        bool, (batch, tokens).
    """

    def call(self, inputs):
        return inputs._keras_mask

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs.shape[:2], dtype="bool")


def give_symbolic_mask(output):
    """Gives a symbolic output the mask that its value will carry.

    A layer that joins several inputs, such as `keras.layers.Concatenate`, computes its mask while
    the model is made, and takes an input without a mask for one without padding.
    """
    output._keras_mask = MaskOf()(output)
