"""`Tagger`."""

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import Array, Labels, Source, Texts
from keras_elmo.layers import CRF, CRFDecoder, CRFLoss
from keras_elmo.layers.crf import tag_probabilities
from keras_elmo.models.elmo import Elmo
from keras_elmo.models.outputs import give_symbolic_mask
from keras_elmo.tasks import tags
from keras_elmo.tasks.labels import to_list
from keras_elmo.tasks.metrics import EntityF1, TagAccuracy
from keras_elmo.tasks.task_model import TaskModel, padded
from keras_elmo.text.inputs import strings_for, to_tokens
from keras_elmo.text.tokenizers import token_spans_of_texts

# The score of a transition that the scheme forbids. No sum of other scores makes up for it, and
# yet the loss stays finite where the right tags of some sentence have it by mistake.
_FORBIDDEN = -1e4
# If more sentences than this share break the scheme, the tags are of another scheme.
_MAX_FAULTY_SHARE = 0.01


class Entity(NamedTuple):
    """An entity of a text.

    Attributes:
        label: str. Its type.
        start: int. Its first character, or, in a list of tokens, its first token.
        end: int. The character, or token, after its last.
        text: str. `text[start:end]`; of tokens, these with spaces between them.
    """

    label: str
    start: int
    end: int
    text: str


@keras.saving.register_keras_serializable("keras_elmo")
class Tagger(TaskModel):
    """A tagger of tokens: an `Elmo`, an LSTM in both directions, and a CRF.

    The model is compiled from the start, and can be compiled anew. Its metrics are the accuracy of
    tokens and, if the labels are tags of the scheme BIO or IOBES, the F1 score of entities. The CRF
    then takes no transition that the scheme forbids, such as I-PER after B-LOC.

    Args:
        model: an `Elmo`, or what `Elmo.from_pretrained` takes: a name, a folder, a zip,
            an address, a pair.
        labels: list of tags: strings, ints or bools; `None`: those of the first `fit`, sorted.
        crf: bool. `False`: each token's tag is chosen by itself, with a softmax.
        layers: what the LSTM reads of each token: `"all"` layers of the `Elmo`, side by side, or
            `"elmo"`, their learned mix. With `"all"` the mix of the `Elmo` is frozen.
        word_size: int. The size of a vector that the model learns for each word, in lower case, and
            puts beside those of the `Elmo`; 0: none.
        units: int. Units of the LSTM in each direction.
        dropout: float, from 0 to below 1. The share of ELMo's vectors, and of the LSTM's outputs,
            that is dropped in training.
        **kwargs: `name` and `dtype`; with a name or a path for `model` the arguments of `Elmo`, for
            example `tokenizer` and `trainable_part`.

    Call arguments:
        inputs: sentences, raw or as tokens, as `keras_elmo.strings` says.

    Returns:
        What `CRF` returns, (batch, tokens, tags, tags); with `crf=False` probabilities, float,
        (batch, tokens, tags).

    Raises:
        ValueError: an argument is out of range, or the `Elmo` is stateful or does not read whole
            sentences.
        TypeError: `labels` is not a list of labels.

    Example:

    >>> tagger = Tagger("tiny", labels=["O", "B-PER", "I-PER"])
    >>> tagger.fit(sentences, tags_of_sentences, epochs=10)
    >>> tagger.tag([["Ada", "met", "Charles"]])
    [[('Ada', 'B-PER'), ('met', 'O'), ('Charles', 'B-PER')]]
    >>> tagger.entities(["Ada met Charles."])
    [[Entity(label='PER', start=0, end=3, text='Ada'), ...]]

    Reference: Lample et al. 2016; Peters et al. 2018, section 4.
    """

    _head_rate = 2e-3

    def __init__(
        self,
        model: Elmo | Source | Mapping[str, Any],
        labels: Labels | None = None,
        crf: bool = True,
        layers: str = "all",
        word_size: int = 64,
        units: int = 64,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        self.has_crf = bool(crf)
        super().__init__(model, labels, layers, word_size, units, dropout, **kwargs)

    def _check_elmo(self, elmo):
        super()._check_elmo(elmo)
        if elmo.max_tokens is not None or elmo.keep_sentence_boundaries:
            raise ValueError(
                "The model must give a vector for each token. Received: an Elmo with max_tokens="
                f"{elmo.max_tokens}, keep_sentence_boundaries={elmo.keep_sentence_boundaries}"
            )

    def _build_head(self):
        super()._build_head()
        dtype = self.dtype_policy
        self.lstm = keras.layers.Bidirectional(
            keras.layers.LSTM(self.units, return_sequences=True, dtype=dtype),
            dtype=dtype,
            name="lstm",
        )
        self.token_dropout = keras.layers.Dropout(self.dropout, dtype=dtype, name="token_dropout")
        self.scores = keras.layers.Dense(len(self._labels), dtype="float32", name="scores")
        self.lstm.build(self._input_shape())
        self.token_dropout.build((None, None, 2 * self.units))
        self.scores.build((None, None, 2 * self.units))
        if self.has_crf:
            self.crf = CRF(name="crf")
            self.crf.build((None, None, len(self._labels)))
            if tags.scheme_of(self._labels.names) is not None:
                weights = (self.crf.start, self.crf.transitions, self.crf.end)
                for weight, allowed in zip(
                    weights, tags.transitions(self._labels.names), strict=True
                ):
                    weight.assign(np.where(allowed, 0.0, _FORBIDDEN))

    def _default_compile(self):
        metrics = [TagAccuracy()]
        if self._labels is not None and tags.scheme_of(self._labels.names) is not None:
            metrics.append(EntityF1(self._labels.names))
        loss = CRFLoss()
        if not self.has_crf:
            loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
        return {"loss": loss, "metrics": metrics}

    def call(self, inputs, training=False):
        x, mask = self._read(inputs, training)  # (batch, tokens, D), (batch, tokens)
        x = self.lstm(x, mask=mask, training=training)  # (batch, tokens, 2 * units)
        scores = self.scores(self.token_dropout(x, training=training))  # (batch, tokens, tags)
        result = self.crf(scores, mask=mask) if self.has_crf else ops.softmax(scores)
        result._keras_mask = mask  # losses and metrics leave the padding out
        return result

    def compute_output_spec(self, inputs, training=None):
        self._check_labels()
        mixed = self.elmo.compute_output_spec(inputs)["elmo"]
        sizes = (len(self._labels),) * (2 if self.has_crf else 1)
        result = keras.KerasTensor((*mixed.shape[:2], *sizes), "float32")
        give_symbolic_mask(result)
        return result

    def _texts(self, texts):
        """Sentences in any form as a RaggedTensor of tokens."""
        tensor, tokenizer = strings_for(texts, self.elmo.tokenizer), self.elmo.tokenizer
        if isinstance(tensor, tf.RaggedTensor):
            return tensor
        is_padded = tensor.shape.rank == 2 and (tokenizer is None or tensor.shape[1] != 1)
        return to_tokens(tensor, None if is_padded else tokenizer)

    def _find_labels(self, labels):
        if isinstance(labels, tf.RaggedTensor):
            return to_list(labels.flat_values)
        found = (label for row in to_list(labels) for label in _column(row))
        return [label for label in found if label not in ("", b"")]  # padding

    def _encode(self, texts, labels):
        rows = [_column(row) for row in to_list(labels)]
        lengths = texts.row_lengths().numpy()
        if len(rows) != len(lengths):
            raise ValueError(
                "There must be as many lists of tags as sentences. "
                f"Received: {len(lengths):,} sentences, {len(rows):,} lists of tags"
            )
        # An array is padded; lists are not.
        if isinstance(labels, np.ndarray) or tf.is_tensor(labels):
            rows = [row[:count] for row, count in zip(rows, lengths, strict=True)]
        for index, (row, count) in enumerate(zip(rows, lengths, strict=True)):
            if len(row) != count:
                tokens = [token.decode("utf-8", "replace") for token in texts[index].numpy()]
                raise ValueError(
                    "Each sentence must have as many tags as tokens. "
                    f"Received: {count} tokens and {len(row)} tags in sentence {index}: "
                    f"{' '.join(tokens)[:80]}"
                )
        flat = []
        for index, row in enumerate(rows):
            try:
                flat.append(self._labels.encode(row))
            except (ValueError, TypeError) as error:
                place = f"of the tags of sentence {index}"
                raise type(error)(f"{error} {place}") from None
        values = np.concatenate([np.zeros(0, np.int32), *flat])
        return tf.RaggedTensor.from_row_lengths(values, lengths)

    def _encode_batch(self, texts, labels):
        if not isinstance(labels, tf.RaggedTensor):
            labels = tf.RaggedTensor.from_tensor(labels, lengths=texts.row_lengths())
        values = tf.numpy_function(self._labels.encode, [labels.flat_values], tf.int32)
        values.set_shape([None])
        return texts, labels.with_flat_values(values)

    def _before_fit(self, examples):
        if self.has_crf and tags.scheme_of(self._labels.names) is not None:
            self._check_scheme(examples)

    def _check_scheme(self, examples):
        """Warns of tags that the scheme forbids; many of them are allowed from now on."""
        none, allowed = len(self._labels), np.ones((len(self._labels) + 1,) * 2, bool)
        allowed[none, :-1], allowed[:-1, :-1], allowed[:-1, none] = tags.transitions(
            self._labels.names
        )
        # Each sentence between two tags that stand for its boundaries.
        rows = examples.targets.to_tensor(none).numpy()  # (N, tokens)
        rows = np.pad(rows, [(0, 0), (1, 1)], constant_values=none)
        is_faulty = ~allowed[rows[:, :-1], rows[:, 1:]]  # (N, tokens + 1)
        faulty = np.flatnonzero(is_faulty.any(axis=1))
        if not len(faulty):
            return
        row = faulty[0]
        column = np.flatnonzero(is_faulty[row])[0]
        names = [*self._labels.as_strings(), "no tag"]
        before, after = (names[k] for k in rows[row, column : column + 2])
        message = (
            f"The tags of {len(faulty):,} of {len(rows):,} sentences break their scheme, for "
            f"example {after} after {before} in sentence {row}"
        )
        if len(faulty) > _MAX_FAULTY_SHARE * len(rows):
            for weight in (self.crf.start, self.crf.transitions, self.crf.end):
                values = ops.convert_to_numpy(weight)
                weight.assign(np.where(values < _FORBIDDEN / 2, 0.0, values))
            message += "; so the tagger may take every transition"
        warnings.warn(message, stacklevel=4)

    def predict_step(self, data):
        texts, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        outputs, lengths = self(texts, training=False), texts.row_lengths()
        probabilities, best = self._decode(outputs)
        return {
            "probabilities": tf.RaggedTensor.from_tensor(probabilities, lengths),
            "tags": tf.RaggedTensor.from_tensor(best, lengths),
        }

    def _decode(self, outputs):
        """The probabilities of the tags, (batch, tokens, tags), and the best, (batch, tokens)."""
        if self.has_crf:
            return tag_probabilities(outputs), CRFDecoder()(outputs)
        return outputs, ops.argmax(outputs, axis=-1)

    def predict(self, x: Texts | Iterable[Any], batch_size: int = 32, **kwargs: Any) -> Array:
        """The probabilities of the tags: with a CRF, over all sequences of tags.

        Args:
            x: sentences, raw or as tokens, in any form; or a `tf.data.Dataset` of batches of them.
            batch_size: int.
            **kwargs: see `keras.Model.predict`.

        Returns:
            NumPy array, float32, (N, tokens, tags). Zeros after the end of a sentence.
        """
        rows = (self._predict(x, batch_size, **kwargs) or {"probabilities": []})["probabilities"]
        width = max([1, *(len(row) for row in rows)])
        result = np.zeros((len(rows), width, len(self._labels)), np.float32)
        for index, row in enumerate(rows):
            result[index, : len(row)] = row
        return result

    def _best_tags(self, tokens, batch_size):
        outputs = self._predict(tokens, batch_size, verbose=0)
        return [row.tolist() for row in outputs["tags"]] if outputs else []

    def tag(self, sentences: Texts, batch_size: int = 32) -> list[list[tuple[str, Any]]]:
        """The most likely tags of sentences.

        Args:
            sentences: raw or as tokens, in any form; see `keras_elmo.strings`.
            batch_size: int.

        Returns:
            A list of lists of pairs, a token and its tag.
        """
        tokens, names = self._texts(sentences), self.labels
        best = self._best_tags(tokens, batch_size)
        return [
            [(token, names[k]) for token, k in zip(row, found, strict=True)]
            for row, found in zip(_words(tokens), best, strict=True)
        ]

    def entities(self, texts: Texts, batch_size: int = 32) -> list[list[Entity]]:
        """The entities of texts, for tags of the scheme BIO or IOBES.

        Args:
            texts: raw texts, split by the model's tokenizer, or lists of tokens.
            batch_size: int.

        Returns:
            A list of lists of `Entity`. In raw texts `start` and `end` count characters, in lists
            of tokens they count tokens.

        Raises:
            ValueError: the labels are of no such scheme, or the tokenizer does not say where its
                tokens are.

        Example:

        >>> tagger.entities(["Ada met Charles."])[0][0]
        Entity(label='PER', start=0, end=3, text='Ada')
        """
        self._check_labels()
        if tags.scheme_of(self._labels.names) is None:
            raise ValueError(
                "The labels must be tags like B-PER, I-PER and O. "
                f"Received: labels={self._labels.names}"
            )
        tensor, tokens = strings_for(texts, self.elmo.tokenizer), self._texts(texts)
        best = self._best_tags(tokens, batch_size)
        found = [tags.entities(row, self._labels.names) for row in best]
        is_raw = not isinstance(tensor, tf.RaggedTensor) and self.elmo.tokenizer is not None
        if is_raw and (tensor.shape.rank == 1 or tensor.shape[1] == 1):
            sources = [
                source.decode("utf-8", "surrogateescape")
                for source in tf.reshape(tensor, (-1,)).numpy().tolist()
            ]
            spans = token_spans_of_texts(sources, self.elmo.tokenizer)
            in_characters = [
                [(label, row[first][0], row[end - 1][1]) for label, first, end in entities]
                for entities, row in zip(found, spans, strict=True)
            ]
            return [
                [Entity(label, start, end, source[start:end]) for label, start, end in entities]
                for entities, source in zip(in_characters, sources, strict=True)
            ]
        return [
            [Entity(label, first, end, " ".join(row[first:end])) for label, first, end in entities]
            for entities, row in zip(found, _words(tokens), strict=True)
        ]

    def serving_signatures(self) -> dict[str, Any]:
        """The functions that `export_saved_model` writes, by the names of their signatures.

        `serving_default` takes `text`, string (batch,), and returns, for each token, (batch,
        tokens): `tokens` and `tags`, strings; `starts` and `ends`, int32, the first byte of the
        token in the text and the one after its last; and `probabilities`, float32, of its tag.
        Strings are padded with `""`. `tokens` takes `tokens`, string (batch, tokens), padded with
        `""`, and returns `tokens`, `tags` and `probabilities`.
        """
        self._check_labels()
        names = tf.constant([*self._labels.as_strings(), ""])

        def outputs(tokens):
            probabilities, best = self._decode(self(tokens))
            mask = tf.sequence_mask(tokens.row_lengths(), tf.shape(best)[1])
            best = tf.where(mask, tf.cast(best, tf.int32), len(self._labels))
            return {
                "tokens": padded(tokens, ""),
                "tags": tf.gather(names, best),
                "probabilities": tf.reduce_max(
                    tf.where(tf.one_hot(best, len(self._labels)) > 0, probabilities, 0), -1
                ),
            }

        def from_text(texts):
            tokens, *offsets = self.elmo.tokenizer.tokenize_with_offsets(texts)
            result = outputs(tokens)
            for name, offset in zip(("starts", "ends"), offsets, strict=True):
                result[name] = padded(tf.cast(offset, tf.int32), 0)
            return result

        tokens_input = tf.TensorSpec([None, None], tf.string, "tokens")
        from_tokens = (lambda tokens: outputs(to_tokens(tokens, None)), [tokens_input])
        if self.elmo.tokenizer is None:
            return {"serving_default": from_tokens}
        text_input = tf.TensorSpec([None], tf.string, "text")
        return {"serving_default": (from_text, [text_input]), "tokens": from_tokens}

    def get_config(self):
        return {**super().get_config(), "crf": self.has_crf}


def _words(tokens):
    """The tokens of each sentence as lists of `str`."""
    return [[w.decode("utf-8", "surrogateescape") for w in row] for row in tokens.to_list()]


def _column(row):
    if isinstance(row, str | bytes):
        raise TypeError(f"The tags of a sentence must be a list. Received: {row!r}")
    return list(row.numpy()) if tf.is_tensor(row) else list(row)
