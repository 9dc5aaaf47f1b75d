"""`Elmo`."""

import json
import os

import keras
import tensorflow as tf

from keras_elmo import characters, text
from keras_elmo.config import ElmoConfig
from keras_elmo.layers import BiLM, CharCNNEmbedding, MaskedMean, ScalarMix
from keras_elmo.models import batching
from keras_elmo.weights import hdf5, sources

TRAINABLE_PARTS = ("mix", "bilm", "all", False)
_DEFAULT_INITIALIZER = "glorot_uniform"


@keras.saving.register_keras_serializable("keras_elmo")
class Elmo(keras.Model):
    """ELMo: raw strings, tokens or character ids to contextual vectors.

    Sentence boundaries are added before the biLM and removed after it. A token that occurs twice
    in a batch is encoded once, and padding is not computed. No sentence's vectors depend on its
    neighbours, unless the model is `stateful` or has a layer norm.

    Masking: the mask is computed from the text and goes with the outputs of shape (batch,
    tokens, ...); they are zero where it is `False`.

    Args:
        config: an `ElmoConfig`, a dict in the spelling of options.json, or its path.
        tokenizer: how raw strings are split: `"whitespace"`, `"treebank"`, an object of
            `keras_elmo.text`, or `None` where every input is tokenised already.
        num_mixes: int. Learned mixes of the layers, of which the biLM runs once.
        do_layer_norm: bool. Normalise each layer before it is mixed, over the tokens of the
            batch without the sentence boundaries.
        initial_scalars: `None`, or `num_layers + 1` floats, for every mix. See `ScalarMix`.
        regularizer: regularizer of the mixes' scalars.
        keep_sentence_boundaries: bool. Leave `<S>` and `</S>` in every output.
        stateful: bool. Begin each batch with the LSTM state that the last one left, row by row,
            as the originals do; `reset_states()` forgets it.
        trainable: what trains: `"mix"` (scalars and gamma), `"bilm"` (the LSTMs too), `"all"`
            (the character encoder too), or `False`. `True` restores the one named last.
        kernel_initializer: initializer of the character encoder's and the biLM's kernels.

    Call arguments:
        inputs: string. Raw strings, () or (batch,) or (batch, 1), as tensors, lists or arrays;
            tokens, as lists of lists or a RaggedTensor (batch, None); with `tokenizer=None` also
            tokens (batch, tokens), padded at the end with `""`.

    Returns:
        A dict, with D = 2 * projection_dim:

        - `"elmo"`: float, (batch, tokens, D). The mix; further ones are `"elmo_2"`, ...
        - `"word_emb"`: float, (batch, tokens, projection_dim). The token embeddings.
        - `"lstm_outputs1"`, `"lstm_outputs2"`, ...: float, (batch, tokens, D). Each LSTM layer.
        - `"default"`: float, (batch, D). The mean of `"elmo"` over the tokens.
        - `"mask"`: bool, (batch, tokens).
        - `"sequence_len"`: int32, (batch,). The tokens of each sentence.
        - `"tokens"`: string, (batch, tokens), padded with `""`.

    Raises:
        ValueError: an argument is out of range, or an input has a wrong shape.
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
        config,
        tokenizer="whitespace",
        num_mixes=1,
        do_layer_norm=False,
        initial_scalars=None,
        regularizer=None,
        keep_sentence_boundaries=False,
        stateful=False,
        trainable="mix",
        kernel_initializer=_DEFAULT_INITIALIZER,
        **kwargs,
    ):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                "Elmo reads strings, which only the TensorFlow backend has; on others use the "
                "layers of `keras_elmo.layers`. "
                f"Received: backend {keras.backend.backend()!r}"
            )
        super().__init__(**kwargs)
        if not isinstance(config, ElmoConfig):
            config = ElmoConfig.from_options(config)
        if isinstance(num_mixes, bool) or not isinstance(num_mixes, int) or num_mixes < 1:
            raise ValueError(f"`num_mixes` must be at least 1. Received: num_mixes={num_mixes}")
        self.config = config
        self.tokenizer = text.get(tokenizer)
        self.num_mixes = num_mixes
        self.do_layer_norm = do_layer_norm
        self.initial_scalars = initial_scalars
        self.regularizer = keras.regularizers.get(regularizer)
        self.keep_sentence_boundaries = bool(keep_sentence_boundaries)
        self.stateful = bool(stateful)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_jit = False

        dtype = self.dtype_policy
        self.character_encoder = CharCNNEmbedding(
            filters=config.filters,
            character_dim=config.character_dim,
            num_highway=config.num_highway,
            projection_dim=(
                config.projection_dim if config.num_filters != config.projection_dim else None
            ),
            activation=config.activation,
            kernel_initializer=self.kernel_initializer,
            dtype=dtype,
            name="character_encoder",
        )
        self.bilm = BiLM(
            units=config.units,
            projection_dim=config.projection_dim if config.has_projection else None,
            num_layers=config.num_layers,
            cell_clip=config.cell_clip,
            projection_clip=config.projection_clip,
            use_skip_connections=config.use_skip_connections,
            return_state=True,
            kernel_initializer=self.kernel_initializer,
            dtype=dtype,
            name="bilm",
        )
        self.mixes = [
            ScalarMix(do_layer_norm, initial_scalars, regularizer, dtype=dtype, name=name)
            for name in self._mix_names()
        ]
        self.masked_mean = MaskedMean(dtype=dtype, name="masked_mean")
        self.character_encoder.build((None, config.max_characters))
        self.bilm.build((None, None, config.projection_dim))
        for mix in self.mixes:
            mix.build([(None, None, config.output_dim)] * (config.num_layers + 1))
        self.built = True
        self._state = [
            tf.Variable(tf.zeros((0, size), self.compute_dtype), shape=(None, size), trainable=False)
            for size in [config.projection_dim, config.units] * (2 * config.num_layers)
            if self.stateful
        ]
        self._forget_cache()
        self.trainable = trainable

    @classmethod
    def from_pretrained(cls, source, **kwargs):
        """A model with published or own weights in the original's format.

        Args:
            source: the name of a published model (see `keras_elmo.weights.presets`), downloaded
                once and kept; a folder or a zip with `options.json` and one `*.hdf5`; or a pair
                `(options, weights)` of paths.
            **kwargs: the arguments of `Elmo` but `config`.

        Returns:
            An `Elmo`.

        Raises:
            ValueError: there is no such model, or its files do not hold one. See `load_weights`.
            OSError: a file cannot be opened or downloaded.
        """
        with sources.open_source(source) as (config, weights):
            model = cls(config, kernel_initializer="zeros", **kwargs)
            model.load_weights(weights)
        model.kernel_initializer = keras.initializers.get(_DEFAULT_INITIALIZER)
        return model

    def save_pretrained(self, folder):
        """Writes `options.json` and `weights.hdf5`, which `from_pretrained` and the originals read.

        Args:
            folder: path; made where it does not exist.
        """
        os.makedirs(folder, exist_ok=True)
        self.save_weights(os.path.join(folder, "weights.hdf5"))
        with hdf5.replacing(os.path.join(folder, "options.json")) as path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self.config.to_options(), file, indent=2)
                file.write("\n")

    def load_weights(self, filepath, **kwargs):
        """Loads weights of the original's format, or Keras's own (`*.weights.h5`).

        See `keras_elmo.weights.load_weights` for the faults that it reports; a file with a fault
        changes nothing. A cached vocabulary is forgotten.
        """
        if _is_keras_file(filepath):
            super().load_weights(filepath, **kwargs)
        else:
            hdf5.load_weights(filepath, self.character_encoder, self.bilm, **kwargs)
        self._forget_cache()

    def save_weights(self, filepath, **kwargs):
        """Saves the weights in the original's format, or Keras's own (`*.weights.h5`).

        The original's format holds the character encoder and the biLM; the mixes are in Keras's.
        """
        if _is_keras_file(filepath):
            super().save_weights(filepath, **kwargs)
        else:
            hdf5.save_weights(filepath, self.character_encoder, self.bilm, **kwargs)

    # Calling

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(_coerce(inputs), *args, **kwargs)

    def call(self, inputs):
        tokens = text.to_tokens(inputs, self.tokenizer)
        forward = self._compiled_forward if tf.executing_eagerly() else self._forward
        return forward(tokens.flat_values, tokens.row_lengths())

    def from_character_ids(self, character_ids):
        """The outputs for character ids.

        Args:
            character_ids: int32, (batch, tokens, max_characters), without sentence boundaries.
                Padding tokens are all 0 and come after the real ones.

        Returns:
            The dict of a call, without `"tokens"`.

        Raises:
            TypeError: the ids are no integers.
            ValueError: their shape, or a value, is not as said above.
        """
        ids = tf.convert_to_tensor(character_ids)
        if not ids.dtype.is_integer:
            raise TypeError(f"Character ids must be integers. Received: dtype {ids.dtype.name}")
        if ids.shape.rank != 3 or ids.shape[-1] != self.config.max_characters:
            raise ValueError(
                f"Character ids must have shape (batch, tokens, {self.config.max_characters}). "
                f"Received: shape {tuple(ids.shape)}"
            )
        ids = tf.cast(ids, tf.int32)
        mask = tf.reduce_any(ids > 0, axis=-1)
        if tf.executing_eagerly():
            if tf.size(ids) and not 0 <= tf.reduce_min(ids) <= tf.reduce_max(ids) < 262:
                raise ValueError(
                    f"Character ids must be from 0 (padding) to {characters.NUM_CHARACTERS}. "
                    f"Received: ids from {tf.reduce_min(ids)} to {tf.reduce_max(ids)}"
                )
            if tf.reduce_any(mask[:, 1:] & ~mask[:, :-1]):
                raise ValueError(
                    "Padding (tokens whose ids are all 0) must come after the tokens of a sentence."
                    " Received: a token after padding"
                )
            return self._compiled_forward_ids(ids, mask)
        return self._forward_ids(ids, mask)

    def _forward(self, tokens, row_lengths):
        words, index = tf.unique(tokens)
        outputs = self._outputs(self._encode(words), index, row_lengths)
        if self.keep_sentence_boundaries:
            tokens = tf.concat([[characters.BOS, characters.EOS], tokens], 0)
            tokens = tf.gather(tokens, self._grid(tf.range(tf.size(index)), row_lengths))
            outputs["tokens"] = tf.where(outputs["mask"], tokens, "")
        else:
            ragged = tf.RaggedTensor.from_row_lengths(tokens, row_lengths, validate=False)
            outputs["tokens"] = ragged.to_tensor("")
        return outputs

    def _forward_ids(self, ids, mask):
        words, index = tf.raw_ops.UniqueV2(x=tf.boolean_mask(ids, mask), axis=[0])
        row_lengths = tf.reduce_sum(tf.cast(mask, tf.int64), axis=1)
        outputs = self._outputs(self._encode_ids(words), index, row_lengths)
        if self.keep_sentence_boundaries:
            return outputs
        # As many tokens as the input has, also where the longest sentence has fewer.
        missing = tf.shape(mask)[1] - tf.shape(outputs["mask"])[1]
        return {
            name: value
            if name in ("default", "sequence_len")
            else tf.pad(value, [[0, 0], [0, missing], [0, 0]][: value.shape.rank])
            for name, value in outputs.items()
        }

    def _encode(self, words):
        """string (words,) -> float (2 + words, projection_dim): the boundaries, then the words."""
        max_characters = self.config.max_characters
        if self._cache is None:
            return self._encode_ids(text.character_ids(words, max_characters))
        found = self._cache.lookup(words)
        hits, misses = tf.where(found >= 0)[:, 0], tf.where(found < 0)[:, 0]
        fresh = self._encode_ids(text.character_ids(tf.gather(words, misses), max_characters))
        cached = tf.gather(self._cached_embeddings, tf.gather(found, hits))
        places = [tf.concat([[0, 1], misses + 2], 0), hits + 2]
        return tf.dynamic_stitch([tf.cast(p, tf.int32) for p in places], [fresh, cached])

    def _encode_ids(self, ids):
        boundaries = text.boundary_character_ids(self.config.max_characters)
        return self.character_encoder(tf.concat([boundaries, ids], 0))

    def _grid(self, index, row_lengths):
        """Places of words, row by row -> int32 (batch, tokens + 2) in what `_encode` returns."""
        ragged = tf.RaggedTensor.from_row_lengths(index + 2, row_lengths, validate=False)
        grid = tf.pad(ragged.to_tensor(), [[0, 0], [1, 1]])
        position = tf.range(tf.shape(grid)[1], dtype=row_lengths.dtype)
        return tf.where(position == row_lengths[:, None] + 1, 1, grid)

    def _contextualize(self, embeddings, index, row_lengths, state=None):
        """The token embeddings, every layer and the mask, the boundaries kept or removed."""
        grid = self._grid(index, row_lengths)
        mask = tf.sequence_mask(row_lengths + 2, tf.shape(grid)[1])
        tokens = tf.gather(embeddings, grid)  # (batch, tokens + 2, projection_dim)
        layers, state = self.bilm(tokens, mask=mask, initial_state=state)
        layers = [layers[0][..., : self.config.projection_dim], *layers]
        if not self.keep_sentence_boundaries:
            mask = mask[:, 2:]
            layers = [tf.where(mask[..., None], layer[:, 1:-1], 0) for layer in layers]
        return layers[0], layers[1:], mask, state

    def _outputs(self, embeddings, index, row_lengths):
        state = self._read_state(tf.size(row_lengths)) if self.stateful else None
        word_emb, layers, mask, state = self._contextualize(embeddings, index, row_lengths, state)
        if self.stateful:
            self._write_state(state)
        outputs = {"word_emb": word_emb}
        for number, layer in enumerate(layers[1:], start=1):
            outputs[f"lstm_outputs{number}"] = layer
        for name, mix in zip(self._mix_names(), self.mixes, strict=True):
            outputs[name] = tf.where(mask[..., None], mix(layers, mask=mask), 0)
        outputs["default"] = self.masked_mean(outputs["elmo"], mask=mask)
        outputs["mask"] = mask
        outputs["sequence_len"] = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
        return outputs

    def _batch(self, embeddings, index, row_lengths, layers):
        """The chosen layers of real tokens alone: (N, D), or (num_layers + 1, N, D) for "all"."""
        word_emb, outputs, mask, _ = self._contextualize(embeddings, index, row_lengths)
        if layers in self._mix_names():
            mix = self.mixes[self._mix_names().index(layers)]
            return tf.boolean_mask(mix(outputs, mask=mask), mask)
        if layers == "all":
            return tf.stack([tf.boolean_mask(layer, mask) for layer in outputs])
        if layers == "average":
            return tf.boolean_mask(sum(outputs) / len(outputs), mask)
        return tf.boolean_mask(outputs[-1 if layers == "top" else layers], mask)

    def _mix_names(self):
        return ["elmo", *(f"elmo_{number}" for number in range(2, self.num_mixes + 1))]

    # Embedding of many sentences

    def embed(self, sentences, layers="elmo", token_budget=batching.TOKEN_BUDGET, progress=False):
        """Embeds sentences, any number of them.

        Sentences of like length go together, in batches of about `token_budget` tokens; the
        result has their order. Every sentence begins with a zero state, also of a stateful model.

        Args:
            sentences: list, array, tensor or iterable of raw strings, split by the model's
                tokenizer, or of lists of tokens, which are not split again.
            layers: `"elmo"` (or `"elmo_2"`, ...), a learned mix; `"average"` or `"top"` of the
                layers; the number of one, 0 being `[token, token]`; or `"all"`.
            token_budget: int. Tokens of a batch, at most (but for a sentence that is longer).
            progress: bool. Show a progress bar on standard error.

        Returns:
            A list of NumPy arrays, float32: (tokens, D), or (num_layers + 1, tokens, D) for
            `"all"`.

        Raises:
            ValueError: `layers` or `token_budget` is not as said above.
            TypeError: a sentence is neither a string nor a list of strings.

        Example:

        >>> [vectors.shape for vectors in elmo.embed(["The cat sat .", "Hello"])]
        [(4, 1024), (1, 1024)]
        """
        return list(self.embed_stream(sentences, layers, token_budget, progress))

    def embed_stream(
        self, sentences, layers="elmo", token_budget=batching.TOKEN_BUDGET, progress=False
    ):
        """Like `embed`, but an iterator over the arrays, in memory that `token_budget` bounds.

        Of an iterable, only as many sentences are read ahead as make a few batches.
        """
        return batching.embed_stream(self, sentences, layers, token_budget, progress)

    def cache_tokens(self, words):
        """Keeps the token embeddings of a vocabulary, so that its words need no encoding.

        Other words are encoded as always; the cache never grows by itself. It replaces an earlier
        one, is forgotten when weights are loaded or `trainable` becomes `"all"`, and is not saved.

        Args:
            words: list of strings; an empty one removes the cache. Each takes `projection_dim`
                floats of memory.

        Raises:
            ValueError: the character encoder is trainable: its embeddings would change.
        """
        if self.trainable == "all":
            raise ValueError(
                "Token embeddings can be cached only while the character encoder does not train. "
                'Received: trainable="all"'
            )
        words = list(dict.fromkeys(text.strings(words).numpy().tolist()))
        self._forget_cache()
        if words:
            embeddings = batching.encode_words(self, words)[2:]
            keys = tf.constant(words, tf.string)
            self._cache = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(keys, tf.range(tf.size(keys))), -1
            )
            self._cached_embeddings = tf.Variable(embeddings, trainable=False)

    def _forget_cache(self):
        self._cache = None
        self._cached_embeddings = None
        # Graphs are built anew: they would hold on to the old cache.
        flat = tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)
        shape = [None, None, self.config.max_characters]
        ids = tf.TensorSpec(shape, tf.int32), tf.TensorSpec(shape[:2], tf.bool)
        self._compiled_forward = tf.function(self._forward, input_signature=flat)
        self._compiled_forward_ids = tf.function(self._forward_ids, input_signature=ids)
        self._compiled_encode = tf.function(self._encode, input_signature=flat[:1])
        self._compiled_batch = tf.function(self._batch, reduce_retracing=True)

    # State

    def reset_states(self):
        """Forgets the state of a stateful model: the next batch begins with zeros."""
        for variable in self._state:
            variable.assign(tf.zeros((0, variable.shape[1]), variable.dtype))

    def _read_state(self, batch_size):
        def rows(variable):
            kept = variable[:batch_size]
            return tf.pad(kept, [[0, batch_size - tf.shape(kept)[0]], [0, 0]])

        return [rows(variable) for variable in self._state]

    def _write_state(self, state):
        for variable, rows in zip(self._state, state, strict=True):
            others = variable[tf.shape(rows)[0] :]  # a smaller batch leaves the rows below it
            variable.assign(tf.concat([rows, others], 0))

    # Keras

    @property
    def trainable(self):
        """What trains: `"mix"`, `"bilm"`, `"all"` or `False`."""
        return getattr(self, "_trainable_part", True)

    @trainable.setter
    def trainable(self, part):
        if part is True:
            part = self._last_part
        if part not in TRAINABLE_PARTS:
            raise ValueError(
                f"`trainable` must be one of {list(TRAINABLE_PARTS)}. Received: trainable={part!r}"
            )
        self._trainable_part = part
        self._last_part = part or getattr(self, "_last_part", "mix")
        for mix in self.mixes:
            mix.trainable = bool(part)
        self.bilm.trainable = part in ("bilm", "all")
        self.character_encoder.trainable = part == "all"
        if part == "all":
            self._forget_cache()

    def fit(self, x=None, *args, **kwargs):
        return super().fit(_coerce(x), *args, **kwargs)

    def evaluate(self, x=None, *args, **kwargs):
        return super().evaluate(_coerce(x), *args, **kwargs)

    def predict(self, x, *args, **kwargs):
        """Keras's `predict`; outputs are padded to the longest sentence of all batches."""
        outputs = super().predict(_coerce(x), *args, **kwargs)
        return {
            name: value.to_tensor().numpy() if isinstance(value, tf.RaggedTensor) else value
            for name, value in outputs.items()
        }

    def compute_mask(self, inputs, mask=None):
        if isinstance(inputs, keras.KerasTensor):
            return None  # a graph of symbols; the mask comes with the values
        lengths = text.to_tokens(inputs, self.tokenizer).row_lengths()
        mask = tf.sequence_mask(lengths + 2 * self.keep_sentence_boundaries)
        names = self._output_shapes(None)
        return {name: mask if name in self._sequences() else None for name in names}

    def compute_output_spec(self, inputs, training=None):
        shapes = self._output_shapes(inputs.shape[0] if len(inputs.shape) else 1)
        dtypes = {"mask": "bool", "sequence_len": "int32", "tokens": "string"}
        return {
            name: keras.KerasTensor(shape, dtype=dtypes.get(name, self.compute_dtype))
            for name, shape in shapes.items()
        }

    def _sequences(self):
        layers = [f"lstm_outputs{n}" for n in range(1, self.config.num_layers + 1)]
        return ["word_emb", *layers, *self._mix_names()]

    def _output_shapes(self, batch):
        dims = dict.fromkeys(self._sequences(), self.config.output_dim)
        dims["word_emb"] = self.config.projection_dim
        return {
            **{name: (batch, None, dim) for name, dim in dims.items()},
            "default": (batch, self.config.output_dim),
            "mask": (batch, None),
            "sequence_len": (batch,),
            "tokens": (batch, None),
        }

    def get_config(self):
        tokenizer = self.tokenizer
        if tokenizer is not None:
            tokenizer = keras.saving.serialize_keras_object(tokenizer)
        return {
            **super().get_config(),
            "config": self.config.to_options(),
            "tokenizer": tokenizer,
            "num_mixes": self.num_mixes,
            "do_layer_norm": self.do_layer_norm,
            "initial_scalars": self.initial_scalars,
            "regularizer": keras.regularizers.serialize(self.regularizer),
            "keep_sentence_boundaries": self.keep_sentence_boundaries,
            "stateful": self.stateful,
            "trainable": self.trainable,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def _coerce(inputs):
    """Text as tensors; what Keras itself reads (its tensors, a `tf.data.Dataset`) as it is."""
    if inputs is None or isinstance(inputs, keras.KerasTensor | tf.data.Dataset):
        return inputs
    return text.strings(inputs)


def _is_keras_file(path):
    return isinstance(path, str | os.PathLike) and os.fspath(path).endswith(".weights.h5")
