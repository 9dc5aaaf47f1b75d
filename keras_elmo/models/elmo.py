"""`Elmo`."""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
from keras import ops

from keras_elmo import characters
from keras_elmo.annotations import LayerSpec, Options, Sentences, Texts
from keras_elmo.backend import ON_TENSORFLOW, Module, tf
from keras_elmo.checks import check_choice, check_counts, check_integers, warn
from keras_elmo.config import ElmoConfig
from keras_elmo.layers import MaskedMean, ScalarMix
from keras_elmo.models.contextual_model import (
    DEFAULT_INITIALIZER,
    ContextualModel,
    refuse_pretrained_source,
)
from keras_elmo.models.embed_stream import embed_tokens, parse_layers, unit_vectors
from keras_elmo.models.kernel_rounding import traced
from keras_elmo.models.outputs import OutputNames
from keras_elmo.models.token_encoder import with_boundaries
from keras_elmo.process.progress import ProgressBar
from keras_elmo.text.character_ids import check_character_ids, padded_rows
from keras_elmo.text.reading import read_sentences, read_tokens
from keras_elmo.text.tensors import num_columns, symbolic_width, tokens_and_width

if TYPE_CHECKING:
    from typing_extensions import Self

TRAINABLE_PARTS = ("none", "mix", "bilm", "all")
_OWN_ARGUMENTS = ("num_mixes", "do_layer_norm", "initial_scalars", "keep_sentence_boundaries")
_OWN_ARGUMENTS += ("stateful", "max_tokens", "trainable", "trainable_part")


@keras.saving.register_keras_serializable("keras_elmo")
class Elmo(ContextualModel):
    """ELMo: raw strings, tokens or character ids to contextual vectors.

    Sentence boundaries are added before the biLM and removed after it. A token that occurs twice
    in a batch is encoded once, and padding is not computed. No sentence's vectors depend on its
    neighbours, unless the model is `stateful` or has a layer norm.

    Masking: the mask is computed from the text and goes with the outputs of shape (batch,
    tokens, ...); they are zero where it is `False`.

    Widths: `tokens` in the shapes below is `max_tokens`, or the width of an input of padded tokens,
    or else the length of the longest sentence of the batch, and 1 if all are empty;
    `keep_sentence_boundaries` adds 2. So labels that are padded like the input, or to `max_tokens`,
    fit the outputs of every batch.

    Args:
        config: an `ElmoConfig`, a dict in the spelling of options.json, or its path, *.json. The
            weights are random: `Elmo.from_pretrained` loads a model.
        tokenizer: how raw strings are split: `"whitespace"`; `"treebank"`, for prose; `"web"`, for
            prose with addresses and #tags; `"characters"` (a token for each character, as for
            proteins); `"space"` (the ASCII space alone, as TF Hub's module does); an object of
            `keras_elmo.text`; or `None`: every input is tokenised.
        num_mixes: int. Learned mixes of the layers. The biLM runs once for all of them.
        do_layer_norm: bool. Normalise each layer before it is mixed, over the tokens of the
            batch, and over the sentence boundaries if they are kept.
        initial_scalars: `None`, or `num_layers + 1` floats, for every mix. See `ScalarMix`.
        regularizer: regularizer of the mixes' scalars.
        keep_sentence_boundaries: bool. Leave `<S>` and `</S>` in every output.
        stateful: bool. Begin each batch with the LSTM state that the last one left, row by row,
            as the originals do; `reset_states()` forgets it.
        max_tokens: int or `None`. The width of every output. Of a longer sentence only the first
            `max_tokens` tokens are read, and the backward LSTMs begin at the last of them.
        trainable: bool. `False` freezes the whole model; `True` trains what `trainable_part` names.
        trainable_part: the part that trains: `"none"`, `"mix"` (scalars and gamma), `"bilm"` (the
            LSTMs too) or `"all"` (the character encoder too). Set this, and not
            `elmo.bilm.trainable`, which does not retrace the graphs of eager calls.
        kernel_initializer: initializer of the character encoder's and the biLM's kernels.
        matmul_dtype: the dtype of the products of matrices: `None`, for that of the layers, or
            `"bfloat16"`: about twice as fast on processors with AMX, and slower on most others (see
            docs/speed.md). `elmo.matmul_dtype = ...` changes it.
        **kwargs: `name` and `dtype`. With `dtype="mixed_bfloat16"` or `"mixed_float16"` the
            outputs have that dtype, and the variables stay float32.

    Call arguments:
        inputs: text, as raw strings or as tokens: `strings` says what each form means. All outputs
            are in memory at once: for many sentences, call `embed`. On Keras's other backends,
            which have no strings, character ids, as `from_character_ids` takes them:
            `keras.Input(shape=(None, 50), dtype="int32")` in a functional model.

    Returns:
        A dict, with D = 2 * projection_dim:

        - `"elmo"`: float, (batch, tokens, D). The mix; further ones are `"elmo_2"`, ...
        - `"word_emb"`: float, (batch, tokens, projection_dim). The token embeddings.
        - `"lstm_outputs1"`, `"lstm_outputs2"`, ...: float, (batch, tokens, D). Each LSTM layer.
        - `"default"`: float, (batch, D). The mean of `"elmo"` over the tokens.
        - `"mask"`: bool, (batch, tokens).
        - `"sequence_len"`: int32, (batch,). The tokens of each sentence.
        - `"tokens"`: string, (batch, tokens), padded with `""`. Only for text.

    Raises:
        ValueError: an argument is out of range, an input has a wrong shape, or most tokens of an
            input hold whitespace.
        TypeError: an input holds something else than strings.

    Example:

    >>> elmo = Elmo.from_pretrained("path/to/model")
    >>> elmo(["The cat sat ."])["elmo"].shape
    TensorShape([1, 4, 1024])

    Reference: Peters et al. 2018, "Deep contextualized word representations"; the TF Hub module
    `google/elmo`, whose keys the outputs have.
    """

    def __init__(
        self,
        config: ElmoConfig | Options,
        tokenizer: Any = "whitespace",
        num_mixes: int = 1,
        do_layer_norm: bool = False,
        initial_scalars: Sequence[float] | None = None,
        regularizer: Any = None,
        keep_sentence_boundaries: bool = False,
        stateful: bool = False,
        max_tokens: int | None = None,
        trainable: bool = True,
        trainable_part: str = "mix",
        kernel_initializer: Any = DEFAULT_INITIALIZER,
        matmul_dtype: str | None = None,
        **kwargs: Any,
    ) -> None:
        refuse_pretrained_source(type(self), config, tokenizer)
        super().__init__(config, tokenizer, kernel_initializer, matmul_dtype, **kwargs)
        if isinstance(config, str | os.PathLike):
            warn(
                f"Elmo({os.fspath(config)!r}) has random weights. Elmo.from_pretrained loads a "
                "model; Elmo(ElmoConfig.from_options(path)) makes a new one without this warning"
            )
        check_integers(1, num_mixes=num_mixes)
        check_counts(max_tokens=max_tokens)
        self.num_read_mixes = num_mixes
        self.num_mixes = num_mixes
        self.do_layer_norm = do_layer_norm
        self.initial_scalars = initial_scalars
        self.regularizer = keras.regularizers.get(regularizer)
        self.keep_sentence_boundaries = bool(keep_sentence_boundaries)
        self.stateful = bool(stateful)
        if self.stateful and not ON_TENSORFLOW:
            raise ValueError(
                "With `stateful=True` the backend must be TensorFlow; for one text after another "
                f"use the layer `BiLM`. Received: backend {keras.backend.backend()!r}"
            )
        self.max_tokens = max_tokens and int(max_tokens)

        dtype = self.dtype_policy
        config = self.config
        self.output_keys = OutputNames(config, num_mixes, 2 if keep_sentence_boundaries else 0)
        self.mixes = [
            ScalarMix(do_layer_norm, initial_scalars, regularizer, dtype=dtype, name=name)
            for name in self.output_keys.mixes
        ]
        self.masked_mean = MaskedMean(dtype=dtype, name="masked_mean")
        for mix in self.mixes:
            mix.build([(None, None, config.output_dim)] * (config.num_layers + 1))
        self.masked_mean.build((None, None, config.output_dim))
        self.built = True
        if self.stateful:
            self._batch_state = BatchState(self.bilm.state_sizes, self.compute_dtype)
        self.trainable_part, self.trainable = trainable_part, trainable

    def call(self, inputs):
        if not ON_TENSORFLOW:
            ids, mask = self._ids_and_mask(inputs)
            return self.make_outputs(*self._contextual_layers(*self._encode_ids(ids, mask)))
        limit = getattr(self._exported, "limit", None)
        tokens, width = tokens_and_width(inputs, self.tokenizer, self.max_tokens, limit)
        tokens, row_lengths = tokens.flat_values, tokens.row_lengths()
        words, word_index = tf.unique(tokens)
        embeddings = self.token_encoder.from_words(words)
        layers, mask = self._contextual_layers(embeddings, word_index, row_lengths)
        return self._token_outputs(layers, mask, width, tokens, row_lengths)

    def from_character_ids(
        self, character_ids: Any, has_boundaries: bool = False
    ) -> dict[str, Any]:
        """The outputs for character ids: the dict of a call, without `"tokens"`.

        Args:
            character_ids: int32, (batch, tokens, max_characters), as the method `batch_to_ids`
                makes them. Padding tokens are all 0 and come after the real ones. With
                `max_tokens`, the tokens beyond it are not read.
            has_boundaries: bool. Whether each sentence has `<S>` and `</S>` already, as bilm-tf's
                `Batcher` makes them. The outputs leave them out: they have two tokens fewer.

        Raises:
            TypeError: the ids are not integers.
            ValueError: their shape, or a value, is not as said above, or there are sentence
                boundaries without `has_boundaries`. (Inside a graph values cannot be checked.)
        """
        ids = check_character_ids(character_ids, self.token_encoder.scheme, has_boundaries)
        if not ON_TENSORFLOW:
            return self(ids)
        if self.max_tokens is not None:
            ids = ids[:, : self.max_tokens]
        mask = tf.reduce_any(ids > 0, axis=-1)
        width = self.max_tokens or num_columns(ids)
        batch = self._encode_ids(ids, mask)
        return self._padded_outputs(*self._contextual_layers(*batch), width)

    def _ids_and_mask(self, ids):
        """Character ids of a call, with `max_tokens` as wide as these, and which are tokens."""
        ids = check_character_ids(ids, self.token_encoder.scheme)
        if self.max_tokens is not None:
            width = self.max_tokens
            ids = ops.pad(ids, [[0, 0], [0, width], [0, 0]])[:, :width]
        return ids, ops.any(ids > 0, axis=-1)

    # The parts of a call. Eagerly each is a graph: `embed` and calls share the largest ones.

    @traced
    def _encode_ids(self, ids, mask):
        """The arguments of `_contextualize` for character ids."""
        if not ON_TENSORFLOW:
            words = ops.reshape(ids, (-1, ids.shape[-1]))
            word_index = ops.reshape(ops.arange(ops.shape(words)[0]), ops.shape(mask))
            row_lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
            return self.token_encoder.from_character_ids(words), word_index, row_lengths
        words, word_index = tf.raw_ops.UniqueV2(x=tf.boolean_mask(ids, mask), axis=[0])
        embeddings = self.token_encoder.from_character_ids(words)
        return embeddings, word_index, tf.reduce_sum(tf.cast(mask, tf.int64), axis=1)

    def _contextual_layers(self, *batch):
        """Every layer, and the mask; of a stateful model from its state."""
        return (self._stateful_layers if self.stateful else self._stateless_layers)(*batch)

    @traced
    def _stateful_layers(self, *batch):
        state = self._batch_state.read(tf.size(batch[-1]))
        layers, mask, state = self._contextualize(*batch, self.keep_sentence_boundaries, state)
        self._batch_state.write(state)
        return layers, mask

    @traced
    def _stateless_layers(self, *batch):
        layers, mask, _ = self._contextualize(*batch, self.keep_sentence_boundaries)
        return layers, mask

    @traced
    def _token_outputs(self, layers, mask, width, tokens, row_lengths):
        """The dict of a call."""
        if self.keep_sentence_boundaries:
            tokens = tf.concat([[characters.BOS, characters.EOS], tokens], 0)
            order = tf.range(tf.size(tokens) - 2)
            tokens = tf.where(mask, tf.gather(tokens, with_boundaries(order, row_lengths)), "")
        else:
            ragged = tf.RaggedTensor.from_row_lengths(tokens, row_lengths, validate=False)
            tokens = ragged.to_tensor("")
        return self.output_keys.pad({**self.make_outputs(layers, mask), "tokens": tokens}, width)

    @traced
    def _padded_outputs(self, layers, mask, width):
        return self.output_keys.pad(self.make_outputs(layers, mask), width)

    def make_outputs(self, layers, mask):
        """The dict of a call, without `"tokens"`, of the layers, (batch, tokens, D)."""
        outputs = {"word_emb": layers[0][:, :, : self.config.projection_dim]}
        for index, layer in enumerate(layers[1:], start=1):
            outputs[f"lstm_outputs{index}"] = layer
        for name, mix in zip(self.output_keys.mixes, self.mixes, strict=True):
            is_token = ops.expand_dims(mask, -1)  # TFLite has no slices with new axes.
            outputs[name] = ops.where(is_token, mix(layers, mask=mask), 0)
        outputs["default"] = self.masked_mean(outputs["elmo"], mask=mask)
        outputs["mask"] = mask
        outputs["sequence_len"] = ops.sum(ops.cast(mask, "int32"), axis=1)
        return outputs

    def copy(self) -> "Self":
        """An `Elmo` with the same arguments and weights. What trains the one leaves the other."""
        config = {**self.get_config(), "tokenizer": self.tokenizer, "kernel_initializer": "zeros"}
        copy = type(self)(**config)
        for own, variable in zip(copy.variables, self.variables, strict=True):
            own.assign(variable)
        copy.kernel_initializer, copy.source = self.kernel_initializer, self.source
        return copy

    def reset_states(self) -> None:
        """Forgets the state of a stateful model: the next batch begins with zeros."""
        if self.stateful:
            self._batch_state.reset()

    # Embedding of many sentences

    def embed(
        self,
        sentences: Sentences,
        layers: LayerSpec | Sequence[LayerSpec] = "elmo",
        token_budget: int | None = None,
        progress: bool = False,
        normalize: bool = False,
    ) -> Any:
        """Embeds sentences, any number of them.

        Sentences of like length go together, in batches of about 4,096 tokens; the result has their
        order. Every sentence begins with a zero state, also of a stateful model.

        Args:
            sentences: see `tokenize`.
            layers: what to return, or a list of such choices:

                - the name of an output: `"elmo"` (or `"elmo_2"`, ...), the learned mix;
                  `"word_emb"`, the token embeddings; `"lstm_outputs1"`, ...; or `"default"`, one
                  vector for each sentence, the mean of `"elmo"` over its tokens;
                - `"average"`, `"sum"` or `"top"` of the layers;
                - the number of a layer: 0 is `[token, token]`, -1 is the last;
                - `"all"` layers.
            token_budget: int. Tokens of a batch, at most, with the two boundaries of each sentence.
                A longer sentence is a batch by itself. `None`: 4,096, but batches of long sentences
                hold 24 of them, up to 24,576 tokens.
            progress: bool. Show a progress bar on standard error.
            normalize: bool. Give the vectors of `layers="default"` the length 1, so that the
                product of two is their cosine.

        Returns:
            A list of NumPy arrays, float32, one for each sentence: (tokens, D);
            (tokens, projection_dim) for `"word_emb"`; (num_layers + 1, tokens, D) for `"all"`. For
            `"default"` one array, (sentences, D). With a list of choices, each sentence has a dict
            of arrays by what was chosen, (D,) for `"default"`. `tokenize` gives their tokens.

        Raises:
            ValueError: `layers`, `token_budget` or `normalize` is not as said above, or most tokens
                hold whitespace.
            TypeError: a sentence is neither a string nor a list of strings.

        Example:

        >>> [vectors.shape for vectors in elmo.embed(["The cat sat .", "Hello"])]
        [(4, 1024), (1, 1024)]
        """
        is_default = isinstance(layers, str) and layers == "default"
        if normalize and not is_default:
            raise ValueError(
                f'With `normalize=True`, `layers` must be "default". Received: layers={layers!r}'
            )
        results = list(self.embed_stream(sentences, layers, token_budget, progress))
        if not is_default:
            return results
        vectors = np.array(results, np.float32).reshape(-1, self.config.output_dim)
        return unit_vectors(vectors) if normalize else vectors

    def similarity(self, one: str | Sequence[str], other: str | Sequence[str]) -> float:
        """The cosine of the `"default"` vectors of two sentences; 0 if one has no tokens.

        It is large for all sentences, since their means have a part in common. To compare many,
        subtract the mean of their vectors from each first.
        """
        a, b = self.embed([one, other], layers="default", normalize=True)
        return float(a @ b)

    def embed_stream(
        self,
        sentences: Sentences,
        layers: LayerSpec | Sequence[LayerSpec] = "elmo",
        token_budget: int | None = None,
        progress: bool = False,
    ) -> Iterator[Any]:
        """Like `embed`, but an iterator, in constant memory: it reads a few batches ahead."""
        # Wrong arguments raise at once, and not with the first result.
        specs = parse_layers(self.config, layers, self.num_mixes)
        check_counts(token_budget=token_budget)
        sentences = read_sentences(sentences, self.tokenizer)
        total = len(sentences) if hasattr(sentences, "__len__") else None

        def results():
            with ProgressBar("embedding", total, is_shown=progress) as bar:
                tokens = read_tokens(sentences, self.tokenizer, self.max_tokens)
                for result in embed_tokens(self, tokens, specs, token_budget, bar.update):
                    yield result if isinstance(layers, list | tuple) else result[specs[0]]

        return results()

    def layers_of_tokens(self, embeddings, word_index, row_lengths):
        """Every layer of the real tokens, floats (N, D), eagerly; see `_contextualize`."""
        if not ON_TENSORFLOW:
            grid = padded_rows(np.array(word_index, np.int32), row_lengths)
            batch = map(ops.convert_to_tensor, (grid, np.array(row_lengths, np.int32)))
            layers, mask = self._stateless_layers(embeddings, *batch)
            is_token = ops.convert_to_numpy(mask)
            return [ops.convert_to_numpy(layer)[is_token] for layer in layers]
        batch = tf.constant(word_index, tf.int32), tf.constant(row_lengths, tf.int64)
        layers, mask = self._stateless_layers(embeddings, *batch)
        tokens = tf.where(mask)
        return [tf.gather_nd(layer, tokens) for layer in layers]

    # Graphs, and what trains

    @property
    def trainable(self) -> bool:
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = check_trainable(value)
        self._update_trainable_layers()

    @property
    def trainable_part(self) -> str:
        """The part that trains while `trainable` is `True`."""
        return self._trainable_part

    @trainable_part.setter
    def trainable_part(self, part: str) -> None:
        check_choice(TRAINABLE_PARTS, trainable_part=part)
        self._trainable_part = part
        self._update_trainable_layers()

    def freeze_mixes(self, first: int) -> None:
        """Freezes the mixes from this one on, which nobody reads."""
        self.num_read_mixes = first
        self._update_trainable_layers()

    def _update_trainable_layers(self):
        part = self.trainable_part if self.trainable else "none"
        for index, mix in enumerate(self.mixes):
            mix.trainable = part != "none" and index < self.num_read_mixes
        self.bilm.trainable = part in ("bilm", "all")
        self.character_encoder.trainable = part == "all"
        self.kernel_rounding.reset()  # The graphs of eager calls skip frozen layers.

    # Keras

    def __call__(self, inputs: Texts, *args: Any, **kwargs: Any) -> dict[str, Any]:
        outputs = super().__call__(inputs, *args, **kwargs)
        if not ON_TENSORFLOW:
            return outputs  # Keras gives them their masks, see `compute_mask`.
        for name in self.output_keys.sequences:
            outputs[name]._keras_mask = outputs["mask"]
        return outputs

    def compute_mask(self, inputs, mask=None):
        if ON_TENSORFLOW:
            return None
        _, mask = self._ids_and_mask(inputs)
        if self.keep_sentence_boundaries:
            mask = ops.concatenate([ops.ones_like(mask[:, :1])] * 2 + [mask], axis=1)
        names = self.compute_output_spec(inputs)
        return {name: mask if name in self.output_keys.sequences else None for name in names}

    def compute_output_shape(self, input_shape):
        specs = self.compute_output_spec(keras.KerasTensor(input_shape, dtype="string"))
        return {name: spec.shape for name, spec in specs.items()}

    def compute_output_spec(self, inputs, training=None):
        batch = inputs.shape[0] if len(inputs.shape) else 1
        if ON_TENSORFLOW:
            width = symbolic_width(inputs, self.tokenizer, self.max_tokens)
        else:
            check_character_ids(inputs, self.token_encoder.scheme)
            width = self.max_tokens or inputs.shape[1]
        specs = self.output_keys.specs(batch, width, self.compute_dtype)
        return {name: x for name, x in specs.items() if ON_TENSORFLOW or name != "tokens"}

    def get_config(self):
        own = {name: getattr(self, name) for name in _OWN_ARGUMENTS}
        own["regularizer"] = keras.regularizers.serialize(self.regularizer)
        return {**super().get_config(), **own}


def check_trainable(value):
    """A `trainable` argument as a bool, or a `ValueError`."""
    if isinstance(value, str) or value not in (True, False):
        part = value if value in TRAINABLE_PARTS else "mix"
        raise ValueError(
            f'`trainable` must be True or False; to say what trains pass trainable_part="{part}", '
            f"one of {list(TRAINABLE_PARTS)}. Received: trainable={value!r}"
        )
    return bool(value)


class BatchState(Module):
    """A state for each row of a batch, zeros at first: a tensor of each of `sizes`.

    Reference: `init_lstm_state` in bilm-tf's bilm/model.py, for at most 128 rows.
    """

    def __init__(self, sizes, dtype):
        super().__init__()
        self.tensors = [
            tf.Variable(tf.zeros((0, size), dtype), shape=(None, size), trainable=False)
            for size in sizes
        ]

    def read(self, batch_size):
        """The first `batch_size` rows of each tensor; rows never written are zeros."""
        kept = [variable[:batch_size] for variable in self.tensors]
        return [tf.pad(rows, [[0, batch_size - tf.shape(rows)[0]], [0, 0]]) for rows in kept]

    def write(self, state):
        """Replaces the first rows. Rows that a smaller batch does not have keep their values."""
        for variable, rows in zip(self.tensors, state, strict=True):
            variable.assign(tf.concat([rows, variable[tf.shape(rows)[0] :]], 0))

    def reset(self):
        for variable in self.tensors:
            variable.assign(tf.zeros((0, variable.shape[1]), variable.dtype))


def to_elmo(elmo: Any, argument: str, dtype: Any, kwargs: dict[str, Any], **defaults: Any) -> Elmo:
    """The `Elmo` of an `Elmo`, its serialised form, or what `Elmo.from_pretrained` takes.

    Messages call it `argument`. A model that is loaded gets `kwargs`, and else `defaults`.
    """
    if isinstance(elmo, dict):
        elmo = keras.saving.deserialize_keras_object(elmo)
        if not isinstance(elmo, Elmo):
            kind = type(elmo).__name__
            raise ValueError(f"`{argument}` must be a serialised Elmo. Received: a {kind}")
    if not isinstance(elmo, Elmo):
        return Elmo.from_pretrained(elmo, dtype=dtype, **{**defaults, **kwargs})
    if kwargs:
        raise ValueError(
            f"With arguments of `Elmo`, `{argument}` must be a name or a path. "
            f"Received: an Elmo, and {sorted(kwargs)}"
        )
    return elmo
