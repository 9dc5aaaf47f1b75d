"""`ElmoEmbedding`."""

from collections.abc import Mapping, Sequence
from typing import Any

import keras

from keras_elmo.annotations import LayerSpec, Source, Texts
from keras_elmo.backend import tf
from keras_elmo.checks import check_choice, check_dropout
from keras_elmo.models.contextual_model import check_restored
from keras_elmo.models.elmo import TRAINABLE_PARTS, Elmo, to_elmo
from keras_elmo.models.embed_stream import parse_layers
from keras_elmo.models.outputs import choose_layer, give_symbolic_mask
from keras_elmo.text.tensors import call_strings

_WITHOUT_MASK = ("default", "all")  # whose second axis is not that of the tokens


@keras.saving.register_keras_serializable("keras_elmo")
class ElmoEmbedding(keras.layers.Layer):
    """Outputs of an `Elmo` as a layer, for `keras.Sequential` on raw strings or on tokens.

    Keras itself takes no lists of strings: hand texts to `fit`, `evaluate`, `predict` and a call of
    the model as `keras_elmo.strings(texts)`, and labels as `np.array(labels)`.

    Masking: the mask is computed from the text and goes with outputs of shape (batch, tokens, D).

    Args:
        elmo: an `Elmo`, or what `Elmo.from_pretrained` takes.
        output: what `Elmo.embed` takes as `layers`: `"elmo"`, `"default"`, `"average"`, `"sum"`,
            `"top"`, `"lstm_outputs1"`, -1, `"all"`, ... With a list of these the layer returns a
            list of tensors, for layers such as `ScalarMix` or `keras.layers.Concatenate`. (If none
            of them is a mix, pass `trainable=False`, or Keras warns that the mix has no gradient.)
        dropout: float, from 0 to below 1. Share of the output's values that are dropped in
            training.
        trainable: bool, or `None`: as the `Elmo` has it. See `Elmo`.
        trainable_part: `"none"`, `"mix"`, `"bilm"` or `"all"`, see `Elmo`; `None`: as it is.
        **kwargs: further arguments of `Elmo` (`tokenizer`, `max_tokens`, `num_mixes`, ...), if
            `elmo` is not an `Elmo` yet; and those of a Keras layer (`name`, `dtype`).

    Call arguments:
        inputs: string, (batch,) and whatever else `Elmo` takes. A `keras.Sequential` begins with
            `keras.Input(shape=(), dtype="string")`; for tokens, padded with `""` (and
            `tokenizer=None`) or ragged, with `shape=(None,)`. Without an `Input` it takes the shape
            of its first batch; within another `keras.Sequential` it needs one.

    Returns:
        float, (batch, tokens, D); (batch, D) for `"default"`; (batch, num_layers + 1, tokens, D)
        for `"all"`. For a list of outputs, a list of these.

    Raises:
        ValueError: an argument is out of range, or there is no such output.

    Example:

    >>> model = keras.Sequential([
    ...     keras.Input(shape=(), dtype="string"),
    ...     ElmoEmbedding("path/to/model", dropout=0.5),
    ...     keras.layers.Bidirectional(keras.layers.LSTM(64)),
    ...     keras.layers.Dense(1, activation="sigmoid"),
    ... ])
    >>> model.compile("adam", "binary_crossentropy")
    >>> model.fit(keras_elmo.strings(["a good film", "a bad film"]), np.array([1, 0]))

    A tagger begins with `keras.Input(shape=(None,), dtype="string")` and
    `ElmoEmbedding("path/to/model", tokenizer=None)`, and its tags (batch, tokens) are padded like
    the tokens. (Let its last layer be a plain `Dense`: `keras.layers.TimeDistributed` of Keras
    3.14.0 to 3.15.1 gives wrong results if the number of tokens is not fixed.)

    Reference: Peters et al. 2018, section 3.3.
    """

    # Of the inputs, as in `keras.layers.TextVectorization`: the layers inside have their own dtype.
    compute_dtype = variable_dtype = "string"

    def __init__(
        self,
        elmo: Elmo | Source | Mapping[str, Any],
        output: LayerSpec | Sequence[LayerSpec] = "elmo",
        dropout: float = 0.0,
        trainable: bool | None = None,
        trainable_part: str | None = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        check_choice((None, *TRAINABLE_PARTS), trainable_part=trainable_part)
        elmo = to_elmo(elmo, "elmo", self.dtype_policy, kwargs)
        names = parse_layers(elmo.config, output, elmo.num_mixes, "output")
        check_dropout(dropout)
        self.elmo = elmo
        self.output_name = names if isinstance(output, list | tuple) else names[0]
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy, name="dropout")
        if trainable is not None:
            self.elmo.trainable = trainable
        if trainable_part is not None:
            self.elmo.trainable_part = trainable_part
        self.supports_jit = False
        self.supports_masking = True
        self.built = True

    @property
    def trainable(self) -> bool:
        return self.elmo.trainable if hasattr(self, "elmo") else True

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.elmo.trainable = value

    @property
    def trainable_part(self) -> str:
        return self.elmo.trainable_part

    @trainable_part.setter
    def trainable_part(self, part: str) -> None:
        self.elmo.trainable_part = part

    def __call__(self, inputs: Texts, *args: Any, **kwargs: Any) -> Any:
        outputs = super().__call__(call_strings(inputs, self.elmo.tokenizer), *args, **kwargs)
        names = keras.tree.flatten(self.output_name)
        for output, name in zip(keras.tree.flatten(outputs), names, strict=True):
            if isinstance(output, keras.KerasTensor) and name not in _WITHOUT_MASK:
                give_symbolic_mask(output)
        return outputs

    def call(self, inputs, training=False):
        outputs = self.elmo(inputs)

        def chosen(name):
            values = self.dropout(self._choose(outputs, name), training=training)
            if name not in _WITHOUT_MASK:
                values._keras_mask = outputs["mask"]
            return values

        return self._for_each_name(chosen)

    def _choose(self, outputs, name):
        if name in outputs:
            return outputs[name]
        layers = [tf.concat([outputs["word_emb"]] * 2, axis=-1)]
        layers += [outputs[f"lstm_outputs{k + 1}"] for k in range(self.elmo.config.num_layers)]
        return choose_layer(layers, name)

    def compute_output_shape(self, input_shape):
        specs = self.compute_output_spec(keras.KerasTensor(input_shape, dtype="string"))
        return keras.tree.map_structure(lambda spec: spec.shape, specs)

    def compute_output_spec(self, inputs, training=None):
        specs = self.elmo.compute_output_spec(inputs)

        def spec(name):
            if name in specs:
                return specs[name]
            batch, *shape = specs["elmo"].shape
            if name == "all":
                shape = [self.elmo.config.num_layers + 1, *shape]
            return keras.KerasTensor((batch, *shape), dtype=specs["elmo"].dtype)

        return self._for_each_name(spec)

    def _for_each_name(self, function):
        """The results of a function of the name of an output, in a list if `output` is one."""
        results = [function(name) for name in keras.tree.flatten(self.output_name)]
        return results if isinstance(self.output_name, list) else results[0]

    def get_config(self):
        return {
            **super().get_config(),
            "elmo": keras.saving.serialize_keras_object(self.elmo),
            "output": self._for_each_name(lambda name: name),
            "dropout": self.dropout.rate,
        }

    @classmethod
    def from_config(cls, config):
        check_restored(config, "elmo")
        return super().from_config(config)
