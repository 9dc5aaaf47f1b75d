"""`CharCNNEmbedding`."""

import math

import keras
from keras import ops

from keras_elmo import characters
from keras_elmo.checks import ACTIVATIONS, are_filters, check_integers
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.matmul import matmul


@keras.saving.register_keras_serializable("keras_elmo")
class CharCNNEmbedding(keras.layers.Layer):
    """Embeds tokens by their characters: convolutions, highway layers, a projection.

        v_i = activation(max over positions (x * W_i) + b_i)        for each width i
        y   = highway(... highway([v_1, v_2, ...])) W_proj + b_proj

    where `x * W` is a VALID convolution over the character embeddings. On TensorFlow the
    characters are cut to the longest token of the batch: windows of nothing but word padding all
    give the same value, so one of them stands for all, and the result is that of the full length.

    Masking: the mask is computed from the ids (a token whose ids are all 0 is padding); the
    embedding of padding is zero.

    Args:
        filters: sequence of `(width, count)`.
        character_dim: int. Size of a character embedding.
        num_highway: int, 0 or more. Highway layers.
        projection_dim: int or `None`. `None`: no projection, and the embedding is as wide as the
            sum of the counts.
        activation: `"relu"` or `"tanh"`.
        num_characters: int. Ids run from 1 to `num_characters`; 0 is padding and has no row.
        trim_characters: bool. Cut the characters as said above. It makes shapes depend on values,
            which XLA cannot compile: with `False` the layer compiles with `jit_compile=True`.
            Without effect on other backends than TensorFlow.
        kernel_initializer: initializer of the kernels and of the character embedding.

    Call arguments:
        character_ids: int32, (..., characters), at least as many characters as the widest filter.
            0 is padding; see `keras_elmo.characters`.
        trim_characters: as the argument of the class, for this call; `None`: as there.
        groups: int. The tokens, the shortest first, are convolved in so many groups, whose
            characters are cut each to its own longest token: less work where there are many.

    Returns:
        float, (..., projection_dim).

    Raises:
        ValueError: an argument is out of range, or the ids have too few characters, or (where
            values are at hand: eagerly, on TensorFlow) an id is out of range.
        TypeError: the ids are no integers.

    Example:

    >>> layer = CharCNNEmbedding(filters=[(1, 32), (2, 64)], num_highway=1, projection_dim=64)
    >>> layer(keras.ops.ones((2, 9, 50), dtype="int32")).shape
    (2, 9, 64)

    Reference: Kim et al. 2016, "Character-Aware Neural Language Models"; Jozefowicz et al. 2016,
    section 3.2; `_build_word_char_embeddings` in bilm-tf's bilm/model.py.
    """

    def __init__(
        self,
        filters,
        character_dim=16,
        num_highway=2,
        projection_dim=None,
        activation="relu",
        num_characters=characters.NUM_CHARACTERS,
        trim_characters=True,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if not are_filters(filters):
            raise ValueError(
                "`filters` must be a non-empty list of (width, count), both positive integers. "
                f"Received: filters={filters!r}"
            )
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"`activation` must be one of {list(ACTIVATIONS)}. "
                f"Received: activation={activation!r}"
            )
        check_integers(1, character_dim=character_dim, num_characters=num_characters)
        check_integers(0, num_highway=num_highway)
        if projection_dim is not None:
            check_integers(1, projection_dim=projection_dim)
        self.filters = [(int(width), int(count)) for width, count in filters]
        self.character_dim = character_dim
        self.num_highway = num_highway
        self.projection_dim = projection_dim
        self.activation = activation
        self.num_characters = num_characters
        self.trim_characters = bool(trim_characters)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.highway_layers = [
            Highway(
                kernel_initializer=self.kernel_initializer.clone(),
                dtype=self.dtype_policy,
                name=f"highway_{i}",
            )
            for i in range(num_highway)
        ]
        self.supports_jit = not self._trims(self.trim_characters)
        self.supports_masking = True

    @property
    def output_dim(self):
        """Size of an embedding."""
        return self.projection_dim or sum(count for _, count in self.filters)

    def build(self, input_shape=None):
        def weight(name, shape, initializer="zeros"):
            return self.add_weight(name=name, shape=shape, initializer=initializer)

        self.character_embedding = weight(
            "character_embedding",
            (self.num_characters, self.character_dim),
            self.kernel_initializer.clone(),
        )
        self.convolution_kernels = []
        self.convolution_biases = []
        for i, (width, count) in enumerate(self.filters):
            shape = (width, self.character_dim, count)
            initializer = self.kernel_initializer.clone()
            self.convolution_kernels.append(weight(f"convolution_kernel_{i}", shape, initializer))
            self.convolution_biases.append(weight(f"convolution_bias_{i}", (count,)))
        num_filters = sum(count for _, count in self.filters)
        for layer in self.highway_layers:
            layer.build((None, num_filters))
        if self.projection_dim is not None:
            self.projection_kernel = weight(
                "projection_kernel",
                (num_filters, self.projection_dim),
                self.kernel_initializer.clone(),
            )
            self.projection_bias = weight("projection_bias", (self.projection_dim,))

    def _trims(self, trim_characters):
        return trim_characters and keras.backend.backend() == "tensorflow"

    def call(self, character_ids, trim_characters=None, groups=1, training=False):
        self._check(character_ids)
        trim_characters = self.trim_characters if trim_characters is None else trim_characters
        # (...) is flattened to N tokens.
        leading = ops.shape(character_ids)[:-1]
        ids = ops.reshape(character_ids, (-1, character_ids.shape[-1]))  # (N, characters)
        mask = ops.any(ids > 0, axis=-1, keepdims=True)  # (N, 1)
        table = ops.convert_to_tensor(self.character_embedding)
        table = ops.concatenate([ops.zeros_like(table[:1]), table])  # row 0: padding
        trims = self._trims(trim_characters)
        count = ops.shape(ids)[0]
        ends = [count * k // groups for k in range(groups + 1)] if groups > 1 else [None, None]
        outputs = ops.concatenate(
            [
                self._convolve(table, ids[start:end], mask[start:end] if trims else None, training)
                for start, end in zip(ends[:-1], ends[1:], strict=True)
            ]
        )
        for layer in self.highway_layers:
            outputs = layer(outputs, training=training)
        if self.projection_dim is not None:
            outputs = matmul(outputs, self.projection_kernel, training) + self.projection_bias
        outputs = ops.where(mask, outputs, ops.zeros_like(outputs))
        return ops.reshape(outputs, (*leading, self.output_dim))

    def _convolve(self, table, ids, mask, training):
        """The convolutions' features, activated: (N, filters). With a mask, characters are cut."""
        lengths = None if mask is None else self._lengths(ids, mask)
        ids = ids[:, : lengths[-1]] if lengths else ids
        embedded = ops.take(table, ids, axis=0)  # (N, characters, character_dim)
        features = []
        for i, (width, count) in enumerate(self.filters):
            x = embedded[:, : lengths[i]] if lengths else embedded
            # A VALID convolution is one matrix product over the windows: (N, windows, width * dim).
            last = ops.shape(x)[1] - width + 1
            windows = ops.concatenate([x[:, k : k + last] for k in range(width)], axis=-1)
            kernel = ops.reshape(self.convolution_kernels[i], (-1, count))
            # An initial value, or Keras refuses the maximum where there is no token.
            highest = ops.max(matmul(windows, kernel, training), axis=1, initial=-math.inf)
            features.append(highest + self.convolution_biases[i])
        activate = keras.activations.get(self.activation)
        return activate(ops.concatenate(features, axis=-1))

    def _lengths(self, ids, mask):
        """For each filter, and last for all, the characters that it must see."""
        limit = ids.shape[-1]
        positions = ops.arange(1, limit + 1, dtype="int32")
        is_character = ops.logical_and(ids != characters.WORD_PADDING, mask)
        ends = ops.where(is_character, positions, ops.zeros_like(positions))  # (N, characters)
        longest = ops.max(ends, initial=1)  # there may be no token
        # One window more than those that touch a character: it is the pure padding.
        widths = [width for width, _ in self.filters]
        return [ops.minimum(longest + width, limit) for width in [*widths, max(widths)]]

    def _check(self, character_ids):
        dtype = keras.backend.standardize_dtype(character_ids.dtype)
        if "int" not in dtype:
            raise TypeError(
                "Character ids must be integers (int32). "
                f"Received: a tensor of dtype {dtype} and shape {tuple(character_ids.shape)}"
            )
        widest = max(width for width, _ in self.filters)
        count = character_ids.shape[-1] if len(character_ids.shape) > 1 else None
        if count is None or count < widest:
            raise ValueError(
                "Character ids must have shape (..., characters), with a known number of "
                f"characters of at least {widest}, the width of the widest filter. "
                f"Received: shape {tuple(character_ids.shape)}"
            )
        # Only a tensor that holds its values, eagerly on TensorFlow, has this method.
        values = character_ids.numpy() if hasattr(character_ids, "numpy") else None
        if values is not None and values.size:
            characters.check_range(int(values.min()), int(values.max()), self.num_characters)

    def compute_mask(self, character_ids, mask=None):
        return ops.any(character_ids > 0, axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.output_dim)

    def compute_output_spec(self, character_ids, **kwargs):
        self._check(character_ids)
        shape = self.compute_output_shape(character_ids.shape)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "filters": [list(pair) for pair in self.filters],
            "character_dim": self.character_dim,
            "num_highway": self.num_highway,
            "projection_dim": self.projection_dim,
            "activation": self.activation,
            "num_characters": self.num_characters,
            "trim_characters": self.trim_characters,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }
