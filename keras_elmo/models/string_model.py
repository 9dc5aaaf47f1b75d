"""`StringModel`."""

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import text


class StringModel(keras.Model):
    """A Keras model that takes text in any form, where Keras takes only tensors of strings.

    `__call__`, `fit`, `evaluate`, `predict` and their `*_on_batch` take strings, lists and NumPy
    arrays too, also in `validation_data`; see `keras_elmo.strings`. What holds batches already (a
    `tf.data.Dataset`, a generator) is Keras's. Outputs of `predict` are padded to the longest
    sentence of all batches.
    """

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(call_strings(inputs), *args, **kwargs)

    def fit(self, x=None, *args, validation_data=None, **kwargs):
        if isinstance(validation_data, list | tuple) and validation_data:
            validation_data = (fit_strings(validation_data[0]), *validation_data[1:])
        return super().fit(fit_strings(x), *args, validation_data=validation_data, **kwargs)

    def evaluate(self, x=None, *args, **kwargs):
        return super().evaluate(fit_strings(x), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        x = fit_strings(x)
        if tf.is_tensor(x) and x.shape.rank == 1 and x.shape[0] == 0:  # Keras fails on no batch
            return keras.tree.map_structure(np.asarray, self(x))
        outputs = super().predict(x, *args, **kwargs)
        return keras.tree.map_structure(
            lambda value: value.to_tensor().numpy() if _is_ragged(value) else value, outputs
        )

    def train_on_batch(self, x, *args, **kwargs):
        return super().train_on_batch(fit_strings(x), *args, **kwargs)

    def test_on_batch(self, x, *args, **kwargs):
        return super().test_on_batch(fit_strings(x), *args, **kwargs)

    def predict_on_batch(self, x):
        return super().predict_on_batch(fit_strings(x))


def call_strings(inputs):
    """What a call takes: text as tensors, and Keras's symbols of strings as they are."""
    if isinstance(inputs, keras.KerasTensor):
        if inputs.dtype != "string":
            raise TypeError(
                'Text must be strings: make the input with keras.Input(shape=(), dtype="string"). '
                f"Received: an input of dtype {inputs.dtype}"
            )
        return inputs
    return text.strings(inputs)


def fit_strings(inputs):
    """What `fit` takes: text as tensors, and what holds batches already as it is."""
    is_text = isinstance(inputs, str | bytes | list | tuple) or hasattr(inputs, "__array__")
    return text.strings(inputs) if is_text else inputs


def _is_ragged(value):
    return isinstance(value, tf.RaggedTensor)
