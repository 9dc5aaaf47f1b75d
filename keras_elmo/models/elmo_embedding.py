"""`ElmoEmbedding`."""

import numbers

import keras

from keras_elmo.models.elmo import Elmo
from keras_elmo.models.string_model import call_strings


@keras.saving.register_keras_serializable("keras_elmo")
class ElmoEmbedding(keras.layers.Layer):
    """One output of an `Elmo` as a layer, for `keras.Sequential` on raw strings.

    Masking: the mask is computed from the text and goes with outputs that have a token axis.

    Args:
        elmo: an `Elmo`, or what `Elmo.from_pretrained` takes: a name, a folder, a zip, a pair.
        output: the key of the output, `"elmo"`, `"default"`, `"lstm_outputs1"`, ...
        dropout: float, from 0 to below 1. Share of the output's values that are dropped in
            training.
        trainable: what trains: `"mix"`, `"bilm"`, `"all"` or `False`, see `Elmo`. `None`: as the
            `Elmo` has it.
        **kwargs: further arguments of `Elmo` (`tokenizer`, `num_mixes`, ...) where `elmo` is none
            yet; and those of a Keras layer (`name`, `dtype`).

    Call arguments:
        inputs: string, (batch,) and whatever else `Elmo` takes. A `keras.Sequential` must begin
            with `keras.Input(shape=(), dtype="string")`, or Keras takes the input for numbers.

    Returns:
        float, (batch, tokens, D), or (batch, D) for `"default"`.

    Raises:
        ValueError: an argument is out of range, or there is no such output.

    Example:

    >>> model = keras.Sequential([
    ...     keras.Input(shape=(), dtype="string"),
    ...     ElmoEmbedding("path/to/model", dropout=0.5),
    ...     keras.layers.Bidirectional(keras.layers.LSTM(64)),
    ...     keras.layers.Dense(1, activation="sigmoid"),
    ... ])

    Reference: Peters et al. 2018, section 3.3.
    """

    def __init__(
        self, elmo, output="elmo", dropout=0.0, trainable=None, name=None, dtype=None, **kwargs
    ):
        super().__init__(name=name, dtype=dtype)
        if isinstance(elmo, dict):
            elmo = keras.saving.deserialize_keras_object(elmo)
        if not isinstance(elmo, Elmo):
            elmo = Elmo.from_pretrained(elmo, dtype=self.dtype_policy, **kwargs)
        elif kwargs:
            raise ValueError(
                "Arguments of `Elmo` can be given only where `elmo` is a name or a path. "
                f"Received: an Elmo, and {sorted(kwargs)}"
            )
        outputs = [*elmo.sequence_names(), "default"]
        if output not in outputs:
            raise ValueError(f"`output` must be one of {outputs}. Received: output={output!r}")
        is_number = isinstance(dropout, numbers.Real) and not isinstance(dropout, bool)
        if not (is_number and 0 <= dropout < 1):
            raise ValueError(f"`dropout` must be from 0 to below 1. Received: dropout={dropout!r}")
        self.elmo = elmo
        self.output_name = output
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        if trainable is not None:
            self.elmo.trainable = trainable
        self.supports_jit = False
        self.built = True

    @property
    def trainable(self):
        """What trains, see `Elmo`."""
        return self.elmo.trainable if hasattr(self, "elmo") else True

    @trainable.setter
    def trainable(self, part):
        self.elmo.trainable = part

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(call_strings(inputs), *args, **kwargs)

    def call(self, inputs, training=False):
        return self.dropout(self.elmo(inputs)[self.output_name], training=training)

    def compute_mask(self, inputs, mask=None):
        masks = self.elmo.compute_mask(inputs)
        return None if masks is None else masks[self.output_name]

    def compute_output_spec(self, inputs, training=None):
        return self.elmo.compute_output_spec(inputs)[self.output_name]

    def get_config(self):
        return {
            **super().get_config(),
            "elmo": keras.saving.serialize_keras_object(self.elmo),
            "output": self.output_name,
            "dropout": self.dropout.rate,
        }

    @classmethod
    def from_config(cls, config):
        return cls(**config)
