"""`ContextualModel`."""

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import text
from keras_elmo.config import ElmoConfig
from keras_elmo.layers import BiLM, CharCNNEmbedding
from keras_elmo.models import batching
from keras_elmo.models.compiled import CompiledFunction
from keras_elmo.models.pretrained_model import DEFAULT_INITIALIZER, PretrainedModel
from keras_elmo.models.token_encoder import TokenEncoder, with_boundaries
from keras_elmo.quiet import find_devices


class ContextualModel(PretrainedModel):
    """What lies below the mixes: words to token embeddings, and these to the biLM's layers.

    Args:
        config: an `ElmoConfig`, a dict in the spelling of options.json, or its path.
        xla: `True`, `False` or `"auto"`, see `Elmo`.
        kernel_initializer: initializer of the character encoder's and the biLM's kernels.
    """

    def __init__(self, config, xla="auto", kernel_initializer=DEFAULT_INITIALIZER, **kwargs):
        if keras.backend.backend() != "tensorflow":
            raise RuntimeError(
                f"{type(self).__name__} reads strings, as only the TensorFlow backend does; on "
                "others use the layers of `keras_elmo.layers`. "
                f"Received: backend {keras.backend.backend()!r}"
            )
        find_devices()
        super().__init__(**kwargs)
        if xla not in (True, False, "auto"):
            raise ValueError(f'`xla` must be True, False or "auto". Received: xla={xla!r}')
        if not isinstance(config, ElmoConfig):
            config = ElmoConfig.from_options(config)
        self.config = config
        self.xla = xla
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.supports_jit = False  # strings; what XLA can compile, `xla` says

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
        self.character_encoder.build((None, config.max_characters))
        self.bilm.build((None, None, config.projection_dim))
        self.uses_xla = bool(tf.config.list_physical_devices("GPU")) if xla == "auto" else xla
        self._compiled_encoder = CompiledFunction(self._encode_untrimmed)
        self._compiled_bilm = CompiledFunction(self._run_rnn_loop)
        self.token_encoder = TokenEncoder(self._encode, config.max_characters)

    def __repr__(self):
        if not self.built:
            return super().__repr__()
        config = self.config
        trainable = [layer.name for layer in self.layers if layer.trainable_variables]
        tokenizer = "no tokenizer" if self.tokenizer is None else type(self.tokenizer).__name__
        return (
            f"<{type(self).__name__} {self.name}"
            + (f" from {self._source!r}" if self._source else "")
            + f": {self.count_params():,} parameters, {config.num_layers} LSTM layers in each "
            f"direction, outputs of {config.output_dim:,}; {tokenizer}; "
            f"trainable layers: {', '.join(trainable) or 'none'}>"
        )

    # XLA cannot be differentiated through a loop: what trains is left to TensorFlow.

    def _encode(self, ids, **kwargs):
        if self.uses_xla and not self.character_encoder.trainable:
            return self._compiled_encoder.tokens(ids)
        return self.character_encoder(ids, **kwargs)

    def _encode_untrimmed(self, ids):
        return self.character_encoder(ids, trim_characters=False)

    def _run_rnn_loop(self, tokens, **start):
        with self.bilm.using_loop("rnn"):
            return self.bilm(tokens, **start)

    def _run_bilm(self, tokens, mask, **start):
        if self.uses_xla and not self.bilm.trainable:
            return self._compiled_bilm.sequences(tokens, mask, **start)
        return self.bilm(tokens, mask=mask, **start)

    def token_embeddings(self, words):
        """The embeddings of words by themselves, as the biLM reads them.

        See `keras_elmo.dump_token_embeddings` for a file of them, and `embed(..., layers=
        "word_emb")` for those of sentences.

        Args:
            words: list of strings. `"<S>"` and `"</S>"` are words like others.

        Returns:
            NumPy array, float32, (words, projection_dim).

        Raises:
            ValueError: the words are no list of strings.

        Example:

        >>> elmo.token_embeddings(["cat", "dog"]).shape
        (2, 512)
        """
        words = check_words(words)
        distinct = sorted(set(words), key=len)
        place = {word: index for index, word in enumerate(distinct)}
        embeddings = self.token_encoder.encode_all(distinct).numpy()[2:]
        index = np.array([place[word] for word in words], int)
        return embeddings[index].astype(np.float32, copy=False)

    def tokenize(self, sentences):
        """The tokens of sentences, as the model's tokenizer splits them.

        Args:
            sentences: list, array, tensor or iterable of raw strings, or of lists of tokens, which
                are not split again.

        Returns:
            A list of lists of `str`. Bytes that are no UTF-8 are lone surrogates in them, as
            Python's `surrogateescape` makes them, which every call takes back as those bytes.

        Raises:
            TypeError: a sentence is neither a string nor a list of strings.

        Example:

        >>> elmo.tokenize(["The cat sat .", ["Hello"]])
        [['The', 'cat', 'sat', '.'], ['Hello']]
        """
        return batching.tokenize(self.tokenizer, sentences)

    def contextualize(self, embeddings, index, row_lengths, keeps_boundaries=False, state=None):
        """Every layer of sentences whose words are encoded.

        Args:
            embeddings: float, (2 + words, projection_dim). What `TokenEncoder.encode` gives.
            index: int32, (N,). For each token of all sentences, its place among the words.
            row_lengths: int64, (batch,). Tokens of each sentence.
            keeps_boundaries: bool. Leave `<S>` and `</S>` in.
            state: see `BiLM`; `None`: zeros.

        Returns:
            A triple: the `num_layers + 1` layers, float, (batch, tokens, 2 * projection_dim), zero
            where the mask is `False`; the mask, bool, (batch, tokens); and the biLM's state: after
            `</S>` where a state was given, or boundaries are kept.
        """
        # What is frozen takes no part in the backward pass, which costs twice the forward one.
        if not self.character_encoder.trainable:
            embeddings = tf.stop_gradient(embeddings)
        start = {"initial_state": state}
        reads_boundaries = keeps_boundaries or state is not None
        if not reads_boundaries:
            # No sentence needs the last step, and the first is the same for all.
            start = {"boundaries": (embeddings[0], embeddings[1])}
        grid = with_boundaries(index, row_lengths)
        mask = tf.sequence_mask(row_lengths + 2, tf.shape(grid)[1])
        if not reads_boundaries:
            grid, mask = grid[:, 1:-1], mask[:, 2:]
        tokens = tf.gather(embeddings, grid)  # (batch, tokens, projection_dim)
        layers, state = self._run_bilm(tokens, mask, **start)
        if not self.bilm.trainable:
            layers = [tf.stop_gradient(layer) for layer in layers]
        if reads_boundaries and not keeps_boundaries:
            mask = mask[:, 2:]
            layers = [tf.where(mask[..., None], layer[:, 1:-1], 0) for layer in layers]
        return layers, mask, state


def check_words(words):
    """Words as a list of bytes.

    Raises:
        ValueError: they are no list of strings.
    """
    words = text.strings(words)
    if isinstance(words, tf.RaggedTensor) or words.shape.rank != 1:
        raise ValueError(
            f"The words must be a list of strings. Received: strings of shape {tuple(words.shape)}"
        )
    return words.numpy().tolist()
