"""What a call of `Elmo` returns: names, shapes, padding and masks of its outputs.

How wide the padding is, `tokens_and_width` of `keras_elmo.text.inputs` says.
"""

import threading

import keras
import tensorflow as tf

# Of the outputs that are not floats.
_DTYPES = {"mask": "bool", "sequence_len": "int32", "tokens": "string"}


class OutputNames:
    """The keys of the dict that a call of `Elmo` returns, and the shapes of its values.

    Args:
        config: the `ElmoConfig`.
        num_mixes: int.
        num_boundaries: int. How many sentence boundaries each sentence has in the outputs, 0 or 2.

    Attributes:
        mixes: the outputs that are learned mixes: `"elmo"`, `"elmo_2"`, ...
        sequences: the outputs of shape (batch, tokens, ...) that hold floats.
    """

    def __init__(self, config, num_mixes, num_boundaries):
        self.num_boundaries = num_boundaries
        self.mixes = ["elmo", *(f"elmo_{index}" for index in range(2, num_mixes + 1))]
        layers = [f"lstm_outputs{index}" for index in range(1, config.num_layers + 1)]
        self.sequences = ["word_emb", *layers, *self.mixes]
        self._features = dict.fromkeys(self.sequences, config.output_dim)
        self._features["word_emb"] = config.projection_dim
        self._output_dim = config.output_dim

    def specs(self, batch, width, dtype):
        """Each output as a `keras.KerasTensor`.

        Args:
            batch: int or `None`. Sentences.
            width: int or `None`. Tokens, without the sentence boundaries.
            dtype: str. The dtype of the outputs that hold floats.
        """
        columns = None if width is None else width + self.num_boundaries
        shapes = {
            **{name: (batch, columns, features) for name, features in self._features.items()},
            "default": (batch, self._output_dim),
            "mask": (batch, columns),
            "sequence_len": (batch,),
            "tokens": (batch, columns),
        }
        return {
            name: keras.KerasTensor(shape, dtype=_DTYPES.get(name, dtype))
            for name, shape in shapes.items()
        }

    def masks(self, mask):
        """The mask of each output: that of the tokens if it has a token axis, or `None`."""
        without = dict.fromkeys(("default", "mask", "sequence_len", "tokens"))
        return {**dict.fromkeys(self.sequences, mask), **without}

    def pad(self, outputs, width):
        """Outputs with as many columns as asked for.

        Args:
            outputs: dict, as wide as the longest sentence.
            width: int, or int32 scalar. Tokens, without the sentence boundaries.
        """
        columns = width + self.num_boundaries
        missing = columns - tf.shape(outputs["mask"])[1]
        static = columns if isinstance(width, int) else None
        padded = dict(outputs)
        for name, value in outputs.items():
            if name not in ("default", "sequence_len"):
                padding = [[0, 0], [0, missing], [0, 0]][: value.shape.rank]
                padded[name] = tf.pad(value, padding)
                padded[name].set_shape([value.shape[0], static, *value.shape[2:]])
        return padded


def choose_layer(layers, spec):
    """What a name or a number of `Elmo.embed` means that no mix has.

    Args:
        layers: list of `num_layers + 1` floats, (..., tokens, D).
        spec: `"all"`, `"average"`, `"sum"`, `"top"`, `"lstm_outputs1"`, ..., or an int.

    Returns:
        float, (..., tokens, D); (..., num_layers + 1, tokens, D) for `"all"`.
    """
    if spec == "all":
        return tf.stack(layers, axis=-3)
    if spec in ("average", "sum"):
        return sum(layers) / (len(layers) if spec == "average" else 1)
    if spec == "top":
        return layers[-1]
    return layers[int(spec.removeprefix("lstm_outputs")) if isinstance(spec, str) else spec]


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
