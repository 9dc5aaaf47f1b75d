import functools
import math
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_elmo import characters
from keras_elmo.backend import ON_TENSORFLOW, known_values
from keras_elmo.checks import (
    ACTIVATIONS,
    are_filters,
    check_choice,
    check_integers,
    stands_for_a_shape,
)
from keras_elmo.layers.configured_layer import ConfiguredLayer
from keras_elmo.layers.highway import Highway
from keras_elmo.layers.matmul import matmul
from keras_elmo.layers.rows import take_rows


@keras.saving.register_keras_serializable("keras_elmo")
class CharCNNEmbedding(ConfiguredLayer):
    """Embeds tokens by their characters: convolutions, highway layers, a projection.

        v_i = activation(max over positions (x * W_i) + b_i)        for each width i
        y   = highway(... highway([v_1, v_2, ...])) W_proj + b_proj

    where `x * W` is a VALID convolution over the character embeddings. With a table of words, the
    embedding of the word stands before the characters' part when it is projected. On TensorFlow the
    characters are cut to the longest token of the batch. This does not change the result: all
    windows that hold only word padding have the same value, so one of them is enough.

    Masking: computes the mask from the ids. A token whose ids are all 0 is padding. The embedding
    of padding is zero.

    Args:
        filters: sequence of `(width, count)`.
        character_dim: int. Size of a character embedding.
        num_highway: int, 0 or more. Highway layers.
        projection_dim: int or `None`. `None`: no projection, and the embedding is as wide as the
            sum of the counts.
        activation: `"relu"` or `"tanh"`.
        num_characters: int. Ids are from 1 to `num_characters`, and 0 for padding, which has no row
            in the table of embeddings.
        word_padding: int. The id of the character that fills a word up.
        num_words: int or `None`. Rows of the table of words. `None`: there is no such table.
        word_dim: int or `None`. Size of a row. A table of words needs a `projection_dim`.
        trim_characters: bool. Whether the characters are cut to the longest token, on TensorFlow
            only. Shapes then depend on values, and XLA cannot compile the layer.
        kernel_initializer: initializer of the kernels and of the character embedding.

    Call arguments:
        character_ids: int32, (..., characters), at least as many characters as the widest filter.
            0 is padding; see `keras_elmo.characters`. With a table of words, (..., characters + 1):
            the last id is that of the word, from 1 to `num_words`.
        trim_characters: bool or `None`. Unless it is `None`, it overrides that of the class.
        groups: int. The tokens are convolved in this many groups, and the characters of each group
            are cut to its own longest token. This saves work if there are many tokens and the
            shortest come first.

    Returns:
        float, (..., projection_dim).

    Raises:
        ValueError: an argument is out of range, or the ids have too few characters, or an id is out
            of range (which is checked only eagerly, on TensorFlow).
        TypeError: the ids are not integers.

    Example:

    >>> layer = CharCNNEmbedding(filters=[(1, 32), (2, 64)], projection_dim=64)
    >>> layer(keras.ops.ones((2, 9, 50), dtype="int32")).shape
    (2, 9, 64)

    Reference: Kim et al. 2016, "Character-Aware Neural Language Models"; Jozefowicz et al. 2016,
    section 3.2; `_build_word_char_embeddings` in bilm-tf's bilm/model.py.
    """

    def __init__(
        self,
        filters: Sequence[Sequence[int]],
        character_dim: int = 16,
        num_highway: int = 2,
        projection_dim: int | None = None,
        activation: str = "relu",
        num_characters: int = characters.NUM_CHARACTERS,
        word_padding: int = characters.WORD_PADDING,
        num_words: int | None = None,
        word_dim: int | None = None,
        trim_characters: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not are_filters(filters):
            raise ValueError(
                "`filters` must be a non-empty list of (width, count), both positive integers. "
                f"Received: filters={filters!r}"
            )
        check_choice(ACTIVATIONS, activation=activation)
        check_integers(1, character_dim=character_dim, num_characters=num_characters)
        check_integers(1, word_padding=word_padding)
        check_integers(0, num_highway=num_highway)
        if projection_dim is not None:
            check_integers(1, projection_dim=projection_dim)
        table = num_words, word_dim
        if table != (None, None):
            if None in (*table, projection_dim):
                raise ValueError(
                    "A table of words must have `num_words`, `word_dim` and `projection_dim`. "
                    f"Received: {num_words}, {word_dim} and {projection_dim}"
                )
            check_integers(1, num_words=num_words, word_dim=word_dim)
        self.filters = [[int(width), int(count)] for width, count in filters]
        self.character_dim = character_dim
        self.num_highway = num_highway
        self.projection_dim = projection_dim
        self.activation = activation
        self.num_characters = num_characters
        self.word_padding = word_padding
        self.num_words = num_words
        self.word_dim = word_dim
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
    def output_dim(self) -> int:
        """Size of an embedding."""
        return self.projection_dim or sum(count for _, count in self.filters)

    def build(self, input_shape=None):
        def bias(name, size):
            return self.add_weight((size,), "zeros", name=name)

        def table(name, *shape):
            initializer = self.kernel_initializer.clone()
            # Gradients of a row are added up before they are rounded to the layer's dtype.
            table = self.add_weight(shape, initializer, name=name, autocast=False)
            table.has_lazy_rows = True  # for the optimizers of `keras_elmo.training`
            return table

        sizes = self.num_characters, self.character_dim
        self.character_embedding = table("character_embedding", *sizes)
        self.convolution_kernels, self.convolution_biases = [], []
        for i, (width, count) in enumerate(self.filters):
            sizes = width, self.character_dim, count
            self.convolution_kernels.append(self.add_kernel(f"convolution_kernel_{i}", *sizes))
            self.convolution_biases.append(bias(f"convolution_bias_{i}", count))
        num_filters = sum(count for _, count in self.filters)
        for layer in self.highway_layers:
            layer.build((None, num_filters))
        if self.num_words is not None:
            self.word_embedding = table("word_embedding", self.num_words, self.word_dim)
        if self.projection_dim is not None:
            sizes = (self.word_dim or 0) + num_filters, self.projection_dim
            self.projection_kernel = self.add_kernel("projection_kernel", *sizes)
            self.projection_bias = bias("projection_bias", self.projection_dim)

    def _trims(self, trim_characters):
        return trim_characters and ON_TENSORFLOW

    def call(self, character_ids, trim_characters=None, groups=1, training=False):
        if stands_for_a_shape(character_ids):
            character_ids = ops.cast(character_ids, "int32")
        self._check(character_ids)
        trim_characters = self.trim_characters if trim_characters is None else trim_characters
        # The leading axes (...) are flattened to N tokens.
        leading = ops.shape(character_ids)[:-1]
        ids = ops.reshape(character_ids, (-1, character_ids.shape[-1]))  # (N, characters)
        mask = ops.any(ids > 0, axis=-1, keepdims=True)  # (N, 1)
        if self.num_words is not None:
            ids, words = ids[:, :-1], ids[:, -1]
        # Row 0, for padding, is zero: (num_characters + 1, character_dim). The gradient of `pad` is
        # dense. That of `concatenate` would have a row for each character, see `take_rows`.
        table = ops.pad(ops.convert_to_tensor(self.character_embedding), [[1, 0], [0, 0]])
        table = ops.cast(table, self.compute_dtype)
        trims = self._trims(trim_characters)
        count = ops.shape(ids)[0]
        ends = [count * k // groups for k in range(groups + 1)] if groups > 1 else [None, None]
        outputs = ops.concatenate(
            [
                self._convolve(table, ids[start:end], mask[start:end] if trims else None, training)
                for start, end in zip(ends[:-1], ends[1:], strict=True)
            ]
        )  # (N, sum of the counts)
        for layer in self.highway_layers:
            outputs = layer(outputs, training=training)
        if self.num_words is not None:
            # Padding gets any row here, since its embedding is set to zero below.
            words = ops.maximum(words - 1, 0)
            take = take_rows if training else functools.partial(ops.take, axis=0)
            rows = take(self.word_embedding, words)  # (N, word_dim)
            outputs = ops.concatenate([ops.cast(rows, outputs.dtype), outputs], axis=-1)
        if self.projection_dim is not None:
            outputs = matmul(outputs, self.projection_kernel, training)
            outputs = ops.add(outputs, self.projection_bias)
        outputs = ops.where(mask, outputs, ops.zeros_like(outputs))
        return ops.reshape(outputs, (*leading, self.output_dim))

    def _convolve(self, table, ids, mask, training):
        """The convolutions, their maximum over the positions, and the activation.

        The ids are (N, characters), cut to the longest real token if there is a mask, (N, 1); the
        result is (N, sum of the counts).
        """
        lengths = None if mask is None else self._lengths(ids, mask)
        ids = ids[:, : lengths[-1]] if lengths else ids
        embedded = ops.take(table, ids, axis=0)  # (N, characters, character_dim)
        # Slices of the first axis are contiguous. (characters, N, character_dim)
        embedded = ops.transpose(embedded, (1, 0, 2))
        num_characters, num_tokens, _ = ops.shape(embedded)
        features = []
        for i, (width, count) in enumerate(self.filters):
            # A VALID convolution is a matrix product with the windows.
            num_windows = (lengths[i] if lengths else num_characters) - width + 1
            size = (num_windows, num_tokens, self.character_dim)
            windows = [ops.slice(embedded, (k, 0, 0), size) for k in range(width)]
            windows = ops.concatenate(windows, axis=-1)  # (windows, N, width * character_dim)
            kernel = ops.reshape(self.convolution_kernels[i], (-1, count))
            # Without an initial value, Keras refuses to compute the maximum if there is no token.
            highest = ops.max(matmul(windows, kernel, training), axis=0, initial=-math.inf)
            features.append(highest + self.convolution_biases[i])
        activate = keras.activations.get(self.activation)
        return activate(ops.concatenate(features, axis=-1))

    def _lengths(self, ids, mask):
        """For each filter, the number of characters that it must see, and last, the largest."""
        limit = ids.shape[-1]
        positions = ops.arange(1, limit + 1, dtype="int32")
        is_character = ops.logical_and(ids != self.word_padding, mask)
        ends = ops.where(is_character, positions, ops.zeros_like(positions))  # (N, characters)
        longest = ops.max(ends, initial=1)  # the initial value is for a batch without tokens
        # The windows that hold a character of the longest token, and one that holds only padding.
        widths = [width for width, _ in self.filters]
        return [ops.minimum(longest + width, limit) for width in [*widths, max(widths)]]

    def _check(self, character_ids):
        dtype = keras.backend.standardize_dtype(character_ids.dtype)
        if "int" not in dtype:
            raise TypeError(
                "Character ids must be integers: a model begins with keras.Input(shape=(None, 50), "
                'dtype="int32"). '
                f"Received: a tensor of dtype {dtype} and shape {tuple(character_ids.shape)}"
            )
        widest = max(width for width, _ in self.filters)
        count = character_ids.shape[-1] if len(character_ids.shape) > 1 else None
        has_words = self.num_words is not None
        if count is None or count < widest + has_words:
            raise ValueError(
                "Character ids must have shape (..., characters), with a known number of "
                f"characters of at least {widest}, the width of the widest filter"
                f"{', and the id of the word after them' if has_words else ''}. "
                f"Received: shape {tuple(character_ids.shape)}"
            )
        values = known_values(character_ids)
        if values is None or not values.size:
            return
        if has_words:
            values, words = values[..., :-1], values[..., -1]
            characters.check_range(int(words.min()), int(words.max()), self.num_words, "Word ids")
        characters.check_range(int(values.min()), int(values.max()), self.num_characters)

    def compute_mask(self, character_ids, mask=None):
        return ops.any(character_ids > 0, axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.output_dim)

    def compute_output_spec(self, character_ids, **kwargs):
        self._check(character_ids)
        return super().compute_output_spec(character_ids)
