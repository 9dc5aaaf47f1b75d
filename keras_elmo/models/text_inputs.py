"""What models take as text, where Keras takes only tensors of strings."""

import threading

import keras

from keras_elmo import text


def call_strings(inputs):
    """The inputs of a call: text as tensors. Symbolic inputs of strings stay as they are."""
    if isinstance(inputs, keras.KerasTensor):
        if inputs.dtype != "string":
            raise TypeError(
                'Text must be strings: make the input with keras.Input(shape=(), dtype="string"). '
                f"Received: an input of dtype {inputs.dtype}"
            )
        return inputs
    return text.strings(inputs)


def fit_strings(inputs):
    """The inputs of `fit`: text as tensors. What holds batches already stays as it is."""
    is_text = isinstance(inputs, str | bytes | list | tuple) or hasattr(inputs, "__array__")
    return text.strings(inputs) if is_text else inputs


class LastMask(threading.local):
    """The mask of a thread's last call.

    Keras calls `compute_mask` with the inputs right after `call`. The mask is known by then, and
    need not be computed from the text a second time.
    """

    _kept = None

    def keep(self, inputs, mask):
        """Keeps the mask that a call computed for its inputs."""
        self._kept = inputs, mask

    def take(self, inputs):
        """The mask that was kept for these very inputs, once; else `None`."""
        kept, self._kept = self._kept, None
        return kept[1] if kept is not None and kept[0] is inputs else None
