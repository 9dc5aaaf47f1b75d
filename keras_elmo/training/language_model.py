"""`BiLanguageModel`."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import sources, text
from keras_elmo.annotations import AnyPath, Options, Sentence, Sentences, Source
from keras_elmo.checks import is_integer, short_repr, warn
from keras_elmo.config import SOFTMAX_FILE, VOCABULARY_FILE, ElmoConfig
from keras_elmo.models.contextual_model import (
    DEFAULT_INITIALIZER,
    check_restored,
    refuse_pretrained_source,
    refuse_what_files_hold,
)
from keras_elmo.models.embed_stream import TOKEN_BUDGET, token_batches
from keras_elmo.models.kernel_rounding import traced
from keras_elmo.sources.card import write_card
from keras_elmo.sources.weight_files import WeightFiles
from keras_elmo.training.softmax import Score, Softmax
from keras_elmo.training.vocabulary import Vocabulary
from keras_elmo.training.window_model import WindowModel
from keras_elmo.weights import hdf5, model_files

if TYPE_CHECKING:
    from typing_extensions import Self


@keras.saving.register_keras_serializable("keras_elmo")
class BiLanguageModel(WindowModel):
    """A language model in both directions, as ELMo is trained: the biLM, and a shared softmax.

    The forward direction predicts each word from those to its left, the backward one from those to
    its right. A word outside the vocabulary is predicted as `<UNK>`, and read by its characters.

    Args:
        config: an `ElmoConfig`, a dict in the spelling of options.json, or its path.
        vocabulary: a `Vocabulary`, a sequence of words, or the path of a file with a word a line.
        tokenizer: how raw strings are split, see `Elmo`.
        kernel_initializer: initializer of the character encoder's and the biLM's kernels.
        **kwargs: `name`, `dtype` and `matmul_dtype`, see `Elmo`.

    Attributes:
        has_softmax: bool. `False` if `from_pretrained` found no softmax of the vocabulary: until it
            is trained, the model gives no probabilities. `True` in a new model, whose weights are
            all random.

    Call arguments:
        inputs: text, as `Elmo` takes it.

    Returns:
        A dict: `"forward"` and `"backward"`, float32, (batch, tokens + 1), as `score` gives them,
        with zeros at the end; and `"sequence_len"`, int32, (batch,).

    Raises:
        ValueError: an argument is out of range, or the model has no trained softmax.

    Reference: Peters et al. 2018, section 3.1; `LanguageModel` in bilm-tf's bilm/training.py.
    """

    def __init__(
        self,
        config: ElmoConfig | Options,
        vocabulary: Vocabulary | AnyPath | Sequence[str],
        tokenizer: Any = "whitespace",
        kernel_initializer: Any = DEFAULT_INITIALIZER,
        **kwargs: Any,
    ) -> None:
        refuse_pretrained_source(type(self), config)
        super().__init__(config, tokenizer, kernel_initializer, **kwargs)
        if not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary(vocabulary)
        self.vocabulary = vocabulary
        # Nothing is drawn for a kernel that is loaded next: in the original it has 1.6 GB.
        is_zero = isinstance(self.kernel_initializer, keras.initializers.Zeros)
        self.softmax = Softmax(
            len(vocabulary),
            self.config.projection_dim,
            self.kernel_initializer if is_zero else None,
            name="softmax",
        )
        self.has_softmax = True
        self.built = True
        self._word_id_table = None

    # Text to probabilities, each sentence by itself

    def __call__(self, inputs, *args, **kwargs):
        if isinstance(inputs, dict):  # a window of `fit`: numbers
            return keras.Model.__call__(self, inputs, *args, **kwargs)
        self.check_backend()
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, training=False):
        if isinstance(inputs, dict):
            return super().call(inputs, training)
        self.check_softmax()
        tokens = text.to_tokens(inputs, self.tokenizer)
        return self._score(tokens.flat_values, tokens.row_lengths())

    def _contexts(self, tokens, row_lengths):
        """What each direction predicts the next token from: (N + batch, projection_dim) twice."""
        words, word_index = tf.unique(tokens)
        embeddings = self.token_encoder.from_words(words)
        layers, mask, _ = self._contextualize(
            embeddings, word_index, row_lengths, keep_sentence_boundaries=True
        )
        forward, backward = tf.split(layers[-1], 2, axis=-1)
        has_next = mask[:, 1:]
        contexts = forward[:, :-1], backward[:, 1:]
        return [tf.boolean_mask(context, has_next) for context in contexts]

    @traced
    def _score(self, tokens, row_lengths):
        forward, backward = self._contexts(tokens, row_lengths)
        word_ids = tf.RaggedTensor.from_row_lengths(self._word_ids(tokens), row_lengths)
        batch = tf.shape(row_lengths)[0]
        outputs = {"sequence_len": tf.cast(row_lengths, tf.int32)}
        for name, contexts, targets in [
            ("forward", forward, [word_ids, tf.fill([batch, 1], self.vocabulary.end)]),
            ("backward", backward, [tf.fill([batch, 1], self.vocabulary.begin), word_ids]),
        ]:
            targets = tf.concat(targets, axis=1)
            values = self.softmax.log_probabilities(contexts, targets.flat_values)
            outputs[name] = targets.with_flat_values(values).to_tensor()
        return outputs

    def _word_ids(self, tokens):
        if self._word_id_table is None:
            with tf.init_scope():
                words = [word.encode("utf-8", "surrogateescape") for word in self.vocabulary.words]
                pairs = tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words)))
                self._word_id_table = tf.lookup.StaticHashTable(pairs, self.vocabulary.unknown)
        return self._word_id_table.lookup(tokens)

    def score(self, sentences: Sentences, token_budget: int = TOKEN_BUDGET) -> list[Score]:
        """The log-probability of each token, in each direction, each sentence from a zero state.

        Args:
            sentences: list, array, tensor or iterable of raw strings, or of lists of tokens, see
                `strings`.
            token_budget: int. Tokens of a batch, at most, with the boundaries of its sentences. A
                longer sentence is a batch by itself.

        Returns:
            A list of pairs, natural logarithms, float32, (tokens + 1,): `forward`, those of each
            token and `</S>` from the left; and `backward`, those of `<S>` and each token from the
            right.

        Raises:
            ValueError: the model has no trained softmax.
            TypeError: a sentence is neither a string nor a list of strings.
        """
        scores = []
        for tokens in token_batches(self.tokenizer, sentences, token_budget):
            outputs = self(tokens)
            names = "sequence_len", "forward", "backward"
            rows = zip(*(outputs[name].numpy() for name in names), strict=True)
            for length, forward, backward in rows:
                scores.append(Score(forward[: length + 1], backward[: length + 1]))
        return scores

    def perplexity(self, sentences: Sentences) -> dict[str, float]:
        """The perplexities of sentences, each from a zero state. See `score`.

        Returns:
            A dict of floats: `"forward"`, `"backward"`, and `"perplexity"`: exp of the mean of both
            losses.

        Raises:
            ValueError: there is no sentence.
        """
        scores = self.score(sentences)
        if not scores:
            raise ValueError("There must be at least one sentence. Received: none")
        directions = map(np.concatenate, zip(*scores, strict=True))
        forward, backward = (values.mean(dtype=np.float64) for values in directions)
        means = {"forward": forward, "backward": backward, "perplexity": (forward + backward) / 2}
        return {name: float(np.exp(-mean)) for name, mean in means.items()}

    def top_words(self, sentence: Sentence, k: int = 10) -> list[dict[str, Any]]:
        """The most likely words at each place of a sentence: lexical substitutes.

        Args:
            sentence: a string, split by the tokenizer, or a list or array of tokens.
            k: int.

        Returns:
            A list, for each token a dict: `"token"`; and `"forward"` and `"backward"`, what the
            tokens to its left and to its right make likely: `k` pairs `(word, probability)` each,
            the most likely first.

        Raises:
            ValueError: `k` is out of range, the model has no trained softmax, or most tokens hold
                whitespace, like a list of sentences.
            TypeError: `sentence` is neither a string nor a list of strings.
        """
        self.check_softmax()
        size = len(self.vocabulary)
        if not (is_integer(k) and 1 <= k <= size):
            raise ValueError(f"`k` must be an integer from 1 to {size}. Received: {short_repr(k)}")
        (tokens,) = token_batches(self.tokenizer, [sentence], 1)
        num_words = tf.constant(k, tf.int32)
        directions = self._top(tokens.flat_values, tokens.row_lengths(), num_words)
        forward, backward = ([tensor.numpy() for tensor in direction] for direction in directions)

        def likely_words(values, word_ids, row):
            pairs = zip(word_ids[row], values[row], strict=True)
            return [(self.vocabulary.words[i], float(np.exp(value))) for i, value in pairs]

        return [
            {
                "token": token.decode("utf-8", "replace"),
                "forward": likely_words(*forward, row),
                "backward": likely_words(*backward, row + 1),  # The first row predicts `<S>`.
            }
            for row, token in enumerate(tokens.flat_values.numpy().tolist())
        ]

    @traced
    def _top(self, tokens, row_lengths, k):
        return [self.softmax.top(x, k) for x in self._contexts(tokens, row_lengths)]

    # Weights

    def initialize(self, seed: int = 0) -> None:
        """Draws all weights as the original trainer does, with a seed.

        Reference: `_build_word_char_embeddings` in bilm-tf's bilm/training.py; the kernels of the
        LSTMs are `glorot_uniform`, TensorFlow 1's default.
        """
        rng = np.random.default_rng(seed)
        for variable in self.variables:  # the biases stay at zero
            variable.assign(tf.zeros_like(variable))
        config, encoder = self.config, self.character_encoder
        _draw_uniform(rng, 1.0, encoder.character_embedding)
        if encoder.num_words is not None:
            _draw_uniform(rng, 1.0, encoder.word_embedding)
        for (width, _), kernel in zip(config.filters, encoder.convolution_kernels, strict=True):
            if config.activation == "relu":
                _draw_uniform(rng, 0.05, kernel)
            else:
                _draw_normal(rng, width * config.character_dim, kernel)
        for layer in encoder.highway_layers:
            _draw_normal(rng, config.num_filters, layer.carry_kernel)
            _draw_normal(rng, config.num_filters, layer.transform_kernel)
            layer.carry_bias.assign(tf.fill(layer.carry_bias.shape, -2.0))
        if encoder.projection_dim is not None:
            _draw_normal(rng, encoder.projection_kernel.shape[0], encoder.projection_kernel)
        for cell in (*self.bilm.cells("forward"), *self.bilm.cells("backward")):
            # Both kernels are one in the original.
            fans = cell.kernel.shape[0] + cell.recurrent_kernel.shape[0] + cell.kernel.shape[1]
            for kernel in (cell.kernel, cell.recurrent_kernel):
                _draw_uniform(rng, (6 / fans) ** 0.5, kernel)
            if cell.projection_kernel is not None:
                limit = (6 / sum(cell.projection_kernel.shape)) ** 0.5
                _draw_uniform(rng, limit, cell.projection_kernel)
        _draw_normal(rng, config.projection_dim, self.softmax.kernel)

    def initialize_softmax(self, seed: int = 0) -> None:
        """Draws the weights of the softmax alone, as `initialize` does."""
        kernel, bias = self.softmax.kernel, self.softmax.bias
        _draw_normal(np.random.default_rng(seed), self.config.projection_dim, kernel)
        bias.assign(tf.zeros_like(bias))

    @classmethod
    def from_pretrained(
        cls,
        source: Source,
        vocabulary: Vocabulary | AnyPath | Sequence[str] | None = None,
        **kwargs: Any,
    ) -> "Self":
        """A language model from files.

        Args:
            source: what `Elmo.from_pretrained` takes. A folder may hold `softmax.hdf5` and
                `vocab.txt`, or the original's `*_softmax_weights.hdf5` and `vocab-*.txt`. If
                `vocabulary` is `None`, the checkpoints of the published `"small"`, `"medium"` and
                `"original"` are downloaded, which have both (for `"original"` at least 2 GB).
            vocabulary: as the model takes it; instead of the source's, which may have none.
            **kwargs: the other arguments of the model, see `Elmo.from_pretrained`.

        Returns:
            The model. If the files hold no softmax of the vocabulary, as most published ones, it is
            random (`has_softmax` is `False`), and a warning says so.

        Raises:
            ValueError: there is no vocabulary. See also `Elmo.from_pretrained`.
        """
        refuse_what_files_hold(kwargs)
        found = sources.find(source, with_softmax=vocabulary is None)
        vocabulary_path = model_files.find_file(found.folder, VOCABULARY_FILE)
        softmax_path = model_files.find_file(found.folder, SOFTMAX_FILE)
        own_vocabulary = Vocabulary(vocabulary_path) if vocabulary_path else None
        if vocabulary is None:
            vocabulary = own_vocabulary
        if vocabulary is None:
            raise ValueError(
                "There must be a vocabulary: pass `vocabulary`, a file with a word a line. "
                "(`keras-elmo train --init` then trains a softmax.) "
                f"Received: no {VOCABULARY_FILE} in {found.shown!r}"
            )
        config, weights = found.open()
        has_softmax = weights.has_softmax()
        model = cls.from_files(config, weights, found.shown, vocabulary=vocabulary, **kwargs)
        if softmax_path and own_vocabulary in (None, model.vocabulary) and not has_softmax:
            # Published files have neither digest.
            is_of_weights = hdf5.read_digest(softmax_path, "weights") == weights.digest()
            its_vocabulary = hdf5.read_digest(softmax_path, "vocabulary")
            has_softmax = is_of_weights and its_vocabulary in (None, model.vocabulary.digest())
            if has_softmax:
                hdf5.load_weights(softmax_path, softmax=model.softmax)
        model.has_softmax = has_softmax
        if not has_softmax:
            model.initialize_softmax()
            warn(
                f"{found.shown!r} holds no softmax that was saved with these weights and for this "
                "vocabulary: the biLM can be trained on, but gives no probabilities until then"
            )
        return model

    def load_weights(self, filepath: Any, **kwargs: Any) -> None:
        """Loads a checkpoint's softmax, too, see `Elmo.load_weights`."""
        if WeightFiles.find(filepath).has_softmax():
            kwargs["softmax"], self.has_softmax = self.softmax, True
        super().load_weights(filepath, **kwargs)

    def save_pretrained(self, folder: AnyPath) -> None:
        """Writes what `Elmo.save_pretrained` writes, with `vocab.txt` and `softmax.hdf5`.

        The softmax's file names the weights that it belongs to, and is not loaded beside others.
        """
        softmax = self.softmax if self.has_softmax else None
        model_files.save_folder(
            folder, self.config, self.character_encoder, self.bilm, softmax, self.vocabulary
        )
        softmax_path = os.path.join(folder, SOFTMAX_FILE)
        if softmax is None and os.path.exists(softmax_path):  # that of an earlier model
            os.remove(softmax_path)
        write_card(folder, self)

    def check_softmax(self):
        if not self.has_softmax:
            raise ValueError(
                "The model must have a trained softmax; `keras-elmo train --init` trains one. "
                "Received: a model with a random softmax"
            )

    def get_config(self):
        own = {"vocabulary": list(self.vocabulary.words), "has_softmax": self.has_softmax}
        return super().get_config() | own

    @classmethod
    def from_config(cls, config):
        check_restored(config, "config")
        check_restored(config, "vocabulary", list)
        model = cls(**{name: value for name, value in config.items() if name != "has_softmax"})
        model.has_softmax = config["has_softmax"]
        return model


def _draw_uniform(rng, limit, variable):
    variable.assign(rng.uniform(-limit, limit, variable.shape).astype(np.float32))


def _draw_normal(rng, fan_in, variable):
    variable.assign(rng.normal(scale=fan_in**-0.5, size=variable.shape).astype(np.float32))
