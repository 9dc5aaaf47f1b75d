"""What a call of `Elmo` returns: names, shapes, padding and masks of its outputs."""

import keras
from keras import ops

from keras_elmo.backend import tf

# Of the outputs that are not floats.
_DTYPES = {"mask": "bool", "sequence_len": "int32", "tokens": "string"}


class OutputNames:
    """The keys of the dict that a call of `Elmo` returns, and the shapes of its values.

    `num_boundaries` is how many sentence boundaries each sentence has in the outputs, 0 or 2;
    `mixes` are `"elmo"`, `"elmo_2"`, ...; `sequences` the floats of shape (batch, tokens, ...).
    """

    def __init__(self, config, num_mixes, num_boundaries):
        self.num_boundaries = num_boundaries
        self.mixes = ["elmo", *(f"elmo_{index}" for index in range(2, num_mixes + 1))]
        layers = [f"lstm_outputs{index}" for index in range(1, config.num_layers + 1)]
        self.sequences = ["word_emb", *layers, *self.mixes]
        self._config = config

    def specs(self, batch, width, dtype):
        """Each output as a `keras.KerasTensor`, for `width` tokens without the boundaries."""
        columns = None if width is None else width + self.num_boundaries
        shapes = {
            **dict.fromkeys(self.sequences, (batch, columns, self._config.output_dim)),
            "word_emb": (batch, columns, self._config.projection_dim),
            "default": (batch, self._config.output_dim),
            "mask": (batch, columns),
            "sequence_len": (batch,),
            "tokens": (batch, columns),
        }
        return {
            name: keras.KerasTensor(shape, dtype=_DTYPES.get(name, dtype))
            for name, shape in shapes.items()
        }

    def pad(self, outputs, width):
        """Outputs with as many columns as `width`, int or int32 scalar, and the boundaries."""
        columns = width + self.num_boundaries
        missing = columns - tf.shape(outputs["mask"])[1]
        static = columns if isinstance(width, int) else None
        padded = dict(outputs)
        for name, value in outputs.items():
            if name not in ("default", "sequence_len"):
                padded[name] = tf.pad(value, [[0, 0], [0, missing], [0, 0]][: value.shape.rank])
                padded[name].set_shape([value.shape[0], static, *value.shape[2:]])
        return padded


def vector_size(config, specs):
    """The size of what some layer specs (see `Elmo.embed`) name of a token, side by side."""
    sizes = {"word_emb": config.projection_dim, "all": config.output_dim * (config.num_layers + 1)}
    return sum(sizes.get(spec, config.output_dim) for spec in specs)


def choose_layer(layers, spec):
    """What a name or a number of `Elmo.embed` means of `num_layers + 1` floats, (..., D)."""
    if spec == "all":
        return ops.stack(layers, axis=-3)
    if spec in ("average", "sum"):
        return sum(layers) / (len(layers) if spec == "average" else 1)
    if spec == "top":
        return layers[-1]
    return layers[int(spec.removeprefix("lstm_outputs")) if isinstance(spec, str) else spec]


@keras.saving.register_keras_serializable("keras_elmo")
class MaskOf(keras.Operation):
    """The mask that a tensor, (batch, tokens, features), carries when the model runs."""

    def call(self, inputs):
        return inputs._keras_mask

    def compute_output_spec(self, inputs):
        return keras.KerasTensor(inputs.shape[:2], dtype="bool")


def give_symbolic_mask(output):
    """Gives a symbolic output the mask that its value will carry.

    Layers such as `keras.layers.Concatenate` compute their mask while the model is made.
    """
    output._keras_mask = MaskOf()(output)
