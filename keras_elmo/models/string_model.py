"""`StringModel`."""

import keras
import tensorflow as tf

from keras_elmo import text


class StringModel(keras.Model):
    """A Keras model that takes text in any form, where Keras takes only tensors of strings.

    `__call__`, `fit`, `evaluate` and `predict` take strings, lists and NumPy arrays too; see
    `keras_elmo.strings`. Outputs of `predict` are padded to the longest sentence of all batches.
    """

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(as_strings(inputs), *args, **kwargs)

    def fit(self, x=None, *args, **kwargs):
        return super().fit(as_strings(x), *args, **kwargs)

    def evaluate(self, x=None, *args, **kwargs):
        return super().evaluate(as_strings(x), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        outputs = super().predict(as_strings(x), *args, **kwargs)
        return keras.tree.map_structure(
            lambda value: value.to_tensor().numpy() if _is_ragged(value) else value, outputs
        )


def as_strings(inputs):
    """Text as tensors; what Keras itself reads (its tensors, a `tf.data.Dataset`) as it is."""
    if inputs is None or isinstance(inputs, keras.KerasTensor | tf.data.Dataset):
        return inputs
    return text.strings(inputs)


def _is_ragged(value):
    return isinstance(value, tf.RaggedTensor)
