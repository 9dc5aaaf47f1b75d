"""`BiLanguageModel`."""

import os
import warnings
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_elmo import text
from keras_elmo.checks import check_integers
from keras_elmo.files import replacing_file
from keras_elmo.models import initial_weights
from keras_elmo.models.constructor_check import check_is_no_model
from keras_elmo.models.contextual_model import DEFAULT_INITIALIZER, ContextualModel
from keras_elmo.models.sentences import TOKEN_BUDGET, token_batches
from keras_elmo.models.softmax import Softmax
from keras_elmo.text.vocabulary import Vocabulary
from keras_elmo.traced_function import TracedFunction
from keras_elmo.weights import hdf5, tf_checkpoint

VOCABULARY_FILE = "vocab.txt"
SOFTMAX_FILE = "softmax.hdf5"
_WORD_GROUPS = 4  # by length, in which the words of a window are convolved


class Score(NamedTuple):
    """Log-probabilities (natural) of a sentence of n tokens.

    Attributes:
        forward: float32, (n + 1,). Of each token after those to its left, and of the end.
        backward: float32, (n + 1,). Of the begin, and of each token before those to its right.
    """

    forward: np.ndarray
    backward: np.ndarray


@keras.saving.register_keras_serializable("keras_elmo")
class BiLanguageModel(ContextualModel):
    """The biLM with its softmax, which both directions share: what ELMo is trained as.

    The forward direction predicts each word from those to its left, the backward one from those to
    its right. Words outside the vocabulary are `<UNK>` where they are predicted, and their own
    characters where they are read.

    Args:
        config: an `ElmoConfig`, a dict in the spelling of options.json, or its path.
        vocabulary: a `Vocabulary`, a sequence of words, or the path of a file with a word a line.
        tokenizer: how raw strings are split, see `Elmo`.
        kernel_initializer: initializer of the character encoder's and the biLM's kernels;
            `initialize` sets those of the original.

    Call arguments:
        inputs: text, as `Elmo` takes it.

    Returns:
        A dict: `"forward"` and `"backward"`, float32, (batch, tokens + 1), the log-probabilities
        (natural) of `Score`, zero where there is none; and `"sequence_len"`, int32, (batch,).

    Raises:
        ValueError: an argument is out of range; or the model has no softmax (`has_softmax`).

    Example:

    >>> model = BiLanguageModel.from_pretrained("path/to/model")
    >>> model.score(["The cat sat ."])[0].forward.sum()

    Reference: Peters et al. 2018, section 3.1; `LanguageModel` in bilm-tf's bilm/training.py.
    """

    def __init__(
        self,
        config,
        vocabulary,
        tokenizer="whitespace",
        kernel_initializer=DEFAULT_INITIALIZER,
        **kwargs,
    ):
        check_is_no_model(type(self), config)
        super().__init__(config, xla=False, kernel_initializer=kernel_initializer, **kwargs)
        if not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary(vocabulary)
        self.vocabulary = vocabulary
        self.tokenizer = text.get_tokenizer(tokenizer)
        self.softmax = Softmax(len(vocabulary), self.config.projection_dim, name="softmax")
        self.has_softmax = True
        self.built = True
        self._ids = None
        flat = tf.TensorSpec([None], tf.string), tf.TensorSpec([None], tf.int64)
        self._compiled_score = TracedFunction(self._score, input_signature=flat)
        top = *flat, tf.TensorSpec([], tf.int32)
        self._compiled_top = TracedFunction(self._top, input_signature=top)

    # Text to probabilities, each sentence by itself

    def call(self, inputs):
        self._check_softmax()
        tokens = text.to_tokens(inputs, self.tokenizer)
        score = self._compiled_score if tf.executing_eagerly() else self._score
        return score(tokens.flat_values, tokens.row_lengths())

    def _contexts(self, tokens, row_lengths):
        """What each direction knows of each place: two floats, (N + batch, projection_dim).

        The forward direction of each token and the end of each sentence, the backward one of the
        begin and each token.
        """
        words, index = tf.unique(tokens)
        layers, mask, _ = self._contextualize(
            self._token_encoder.from_words(words), index, row_lengths, keeps_boundaries=True
        )
        forward, backward = tf.split(layers[-1], 2, axis=-1)
        has_next = mask[:, 1:]
        return tf.boolean_mask(forward[:, :-1], has_next), tf.boolean_mask(
            backward[:, 1:], has_next
        )

    def _score(self, tokens, row_lengths):
        forward, backward = self._contexts(tokens, row_lengths)
        numbers = tf.RaggedTensor.from_row_lengths(self._numbers(tokens), row_lengths)
        batch = tf.shape(row_lengths)[0]
        outputs = {"sequence_len": tf.cast(row_lengths, tf.int32)}
        for name, contexts, around in [
            ("forward", forward, [numbers, tf.fill([batch, 1], self.vocabulary.end)]),
            ("backward", backward, [tf.fill([batch, 1], self.vocabulary.begin), numbers]),
        ]:
            targets = tf.concat(around, axis=1)
            values = self.softmax.log_probabilities(contexts, targets.flat_values)
            outputs[name] = targets.with_flat_values(values).to_tensor()
        return outputs

    def _numbers(self, tokens):
        """Tokens to their numbers in the vocabulary, int32."""
        if self._ids is None:
            with tf.init_scope():
                words = [word.encode("utf-8", "surrogateescape") for word in self.vocabulary.words]
                self._ids = tf.lookup.StaticHashTable(
                    tf.lookup.KeyValueTensorInitializer(words, tf.range(len(words))),
                    self.vocabulary.unknown,
                )
        return self._ids.lookup(tokens)

    def score(self, sentences, token_budget=TOKEN_BUDGET):
        """The log-probability of each token, in each direction, each sentence from a zero state.

        Args:
            sentences: list, array, tensor or iterable of raw strings, split by the tokenizer
                (`tokenize` gives the tokens), or of lists of tokens.
            token_budget: int. Tokens, padding included, of a batch.

        Returns:
            A list of `Score`s. `score.forward.sum()` is that of the sentence.

        Raises:
            TypeError: a sentence is neither a string nor a list of strings.
        """
        scores = []
        for tokens in token_batches(self.tokenizer, sentences, token_budget):
            outputs = self(tokens)
            for length, *rows in zip(
                *(outputs[name].numpy() for name in ("sequence_len", "forward", "backward")),
                strict=True,
            ):
                scores.append(Score(*(row[: length + 1] for row in rows)))
        return scores

    def perplexity(self, sentences):
        """The perplexities of sentences, each from a zero state.

        Returns:
            A dict of floats: `"forward"`, `"backward"`, and `"perplexity"`, that of both: exp of
            the mean of their losses.
        """
        scores = self.score(sentences)
        if not scores:
            raise ValueError("There must be at least one sentence. Received: none")
        losses = [
            -float(np.concatenate(values).mean(dtype=np.float64))
            for values in zip(*scores, strict=True)
        ]
        return perplexities(*losses)

    def top_words(self, sentence, k=10):
        """The most likely words at each place of a sentence: lexical substitutes.

        Args:
            sentence: a string, split by the tokenizer, or a list of tokens.
            k: int.

        Returns:
            A list, for each token a dict: `"token"`; `"forward"`, the words that the tokens to its
            left make likely, and `"backward"`, those to its right: `k` pairs `(word, probability)`
            each, the most likely first.

        Example:

        >>> model.top_words("The cat sat on the mat", k=3)[-1]["forward"]
        """
        self._check_softmax()
        if not isinstance(sentence, str | bytes | list | tuple | np.ndarray):
            raise TypeError(
                "`sentence` must be one sentence: a string, or a list of tokens. "
                f"Received: {type(sentence).__name__}"
            )
        check_integers(1, k=k)
        if k > len(self.vocabulary):
            raise ValueError(
                f"`k` must be at most the size of the vocabulary, {len(self.vocabulary)}. "
                f"Received: k={k}"
            )
        (tokens,) = token_batches(self.tokenizer, [sentence], 1)
        flat = tokens.flat_values
        results = [
            [result.numpy() for result in direction]
            for direction in self._compiled_top(flat, tokens.row_lengths(), tf.constant(k))
        ]
        # The end has no token, nor has the begin.
        places = (slice(0, len(flat)), slice(1, len(flat) + 1))
        words = self.vocabulary.words
        pairs = [
            [
                [(words[i], float(np.exp(value))) for i, value in zip(*row, strict=True)]
                for row in zip(numbers[place], values[place], strict=True)
            ]
            for (values, numbers), place in zip(results, places, strict=True)
        ]
        names = [token.decode("utf-8", "replace") for token in flat.numpy().tolist()]
        return [
            {"token": token, "forward": left, "backward": right}
            for token, left, right in zip(names, *pairs, strict=True)
        ]

    def _top(self, tokens, row_lengths, k):
        return [self.softmax.top(x, k) for x in self._contexts(tokens, row_lengths)]

    # Windows of a corpus, whose state is carried on

    def read_windows(self, words, inputs, state, mask=None, dropout=None, training=False):
        """The top layer's outputs for windows of streams of words.

        Args:
            words: string, (words,). The distinct ones, the shortest first.
            inputs: int32, (2, batch, tokens). What the forward and the backward direction read,
                each in its order: 0 is `<S>`, 1 is `</S>`, k + 2 is `words[k]`.
            state: the biLM's.
            mask: bool, (batch, tokens), or `None`; real tokens come first.
            dropout: see `BiLM.read_streams`.
            training: bool. Whether a gradient will be asked for.

        Returns:
            The outputs, float, (2, batch, tokens, projection_dim), and the state.
        """
        embeddings = self._token_encoder.from_character_ids(
            text.character_ids(words, self.config.max_characters),
            groups=_WORD_GROUPS,
            training=training,
        )
        forward, backward = tf.unstack(tf.gather(embeddings, inputs))
        layers, state = self.bilm.read_streams(
            forward, backward, state, mask, dropout=dropout, training=training
        )
        return tf.stack(tf.split(layers[-1], 2, axis=-1)), state

    # Weights

    def initialize(self, seed=0):
        """Draws all weights as the original trainer does."""
        initial_weights.draw(self, seed)

    def initialize_softmax(self, seed=0):
        """Draws the weights of the softmax alone as the original trainer does."""
        initial_weights.draw_softmax(self.softmax, seed)

    @classmethod
    def from_pretrained(cls, source, vocabulary=None, **kwargs):
        """A language model from files.

        Args:
            source: what `Elmo.from_pretrained` takes; or a checkpoint of the original trainer
                (TensorFlow 1): a folder with `options.json`.
            vocabulary: the vocabulary, where the source is no folder with a `vocab.txt`; or
                another than that.
            **kwargs: the arguments of the model.

        Returns:
            The model. Files of the original hold no softmax, and one of another vocabulary is of
            no use: it warns, and the softmax is new.

        Raises:
            ValueError: there is no vocabulary; see also `Elmo.from_pretrained`.
        """
        folder = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
        words = os.path.join(folder, VOCABULARY_FILE)
        own = Vocabulary(words) if folder and os.path.isfile(words) else None
        if vocabulary is None:
            vocabulary = own
        if vocabulary is None:
            raise ValueError(
                "A language model needs its vocabulary: pass `vocabulary`, a file with a word "
                f"a line. There is no {VOCABULARY_FILE} in {source!r}"
            )
        model = super().from_pretrained(source, vocabulary=vocabulary, **kwargs)
        softmax = os.path.join(folder, SOFTMAX_FILE)
        missing = f"holds no softmax ({SOFTMAX_FILE}), as no published model does"
        if tf_checkpoint.find_checkpoint(folder):
            model.has_softmax = tf_checkpoint.has_softmax(folder)
        elif not (folder and os.path.isfile(softmax)):
            model.has_softmax = False
        elif own is not None and own.words != model.vocabulary.words:
            model.has_softmax = False
            missing = f"has a softmax for its own {VOCABULARY_FILE}, and another was given"
        else:
            hdf5.load_weights(softmax, softmax=model.softmax)
        if not model.has_softmax:
            model.initialize_softmax()
            warnings.warn(
                f"{source!r} {missing}: the biLM can be trained on, but gives no probabilities "
                "until then",
                stacklevel=2,
            )
        return model

    def load_weights(self, filepath, **kwargs):
        """See `Elmo.load_weights`; a checkpoint's softmax is loaded too."""
        if tf_checkpoint.has_softmax(filepath):
            kwargs["softmax"] = self.softmax
        super().load_weights(filepath, **kwargs)

    def save_pretrained(self, folder):
        """Writes `options.json` and `weights.hdf5`, which `Elmo.from_pretrained` and the originals
        read, with `vocab.txt`, and the softmax in `softmax.hdf5`.

        Args:
            folder: path; made where it does not exist.
        """
        super().save_pretrained(folder)
        with replacing_file(os.path.join(folder, VOCABULARY_FILE)) as path:
            self.vocabulary.save(path)
        softmax = os.path.join(folder, SOFTMAX_FILE)
        if self.has_softmax:
            hdf5.save_weights(softmax, softmax=self.softmax)
        elif os.path.exists(softmax):  # of the model that was there
            os.remove(softmax)

    def _check_softmax(self):
        if not self.has_softmax:
            raise ValueError(
                "The model has no trained softmax, and so gives no probabilities. Train it first "
                "(`keras-elmo train --init`), or load a folder that holds one"
            )

    def get_config(self):
        return {
            **super().get_config(),
            "config": self.config.to_options(),
            "vocabulary": list(self.vocabulary.words),
            "tokenizer": keras.saving.serialize_keras_object(self.tokenizer),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def perplexities(forward, backward):
    """The perplexities that two losses (nats) are."""
    return {
        "forward": float(np.exp(forward)),
        "backward": float(np.exp(backward)),
        "perplexity": float(np.exp((forward + backward) / 2)),
    }
