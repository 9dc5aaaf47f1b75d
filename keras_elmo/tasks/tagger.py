"""`Tagger`."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo.annotations import Labels, Source, Texts
from keras_elmo.checks import check_integers
from keras_elmo.models.elmo import Elmo
from keras_elmo.tasks import tags
from keras_elmo.tasks.crf import CRF, best_tags, tag_probabilities
from keras_elmo.tasks.crf_loss import CRFAccuracy, CRFLoss
from keras_elmo.tasks.examples import as_rows, tokens_of, with_a_column
from keras_elmo.tasks.labels import is_table, to_list
from keras_elmo.tasks.metrics import EntityF1
from keras_elmo.tasks.task_model import TaskModel
from keras_elmo.text.inputs import to_tokens
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
        model: what `Elmo.from_pretrained` takes: a name, a folder, a zip, an address, a pair; or an
            `Elmo`, which is copied, and stays as it is.
        labels: tags, which are strings, ints or bools: a list of them; or a column of data that has
            them, in whose order they are taken; or a set, which is sorted.
        crf: bool. `False`: each token's tag is chosen by itself, with a softmax.
        layers: what the LSTM reads of each token: `"all"` layers of the `Elmo`, side by side, or
            `"elmo"`, their learned mix. With `"all"` the mix of the `Elmo` is frozen.
        word_dim: int. The size of a vector that the model learns for each word, in lower case, and
            puts beside those of the `Elmo`; 0: none.
        units: int. Units of the LSTM in each direction.
        dropout: float, from 0 to below 1. The share of ELMo's vectors, and of the LSTM's outputs,
            that is dropped in training.
        **kwargs: `name` and `dtype`; with a name or a path for `model` the arguments of `Elmo`, for
            example `tokenizer` and `trainable_part` (`"none"` or, with `layers="elmo"`, `"mix"`).

    Call arguments:
        inputs: sentences, raw or as tokens, as `keras_elmo.strings` says.

    Returns:
        What `CRF` returns, (batch, tokens, tags, tags); with `crf=False` probabilities, float,
        (batch, tokens, tags).

    Raises:
        ValueError: an argument is out of range, or the `Elmo` is stateful or does not read whole
            sentences.
        TypeError: `labels` is not a column of labels.

    Example:

    >>> tagger = Tagger("tiny", labels=["O", "B-PER", "I-PER"])
    >>> tagger.fit(sentences, tags_of_sentences, epochs=10)
    >>> tagger.tag([["Ada", "met", "Charles"]])
    [[('Ada', 'B-PER'), ('met', 'O'), ('Charles', 'B-PER')]]
    >>> tagger.entities(["Ada met Charles."])
    [[Entity(label='PER', start=0, end=3, text='Ada'), ...]]

    Reference: Lample et al. 2016; Peters et al. 2018, section 4.
    """

    def __init__(
        self,
        model: Elmo | Source | Mapping[str, Any],
        labels: Labels,
        crf: bool = True,
        layers: str = "all",
        word_dim: int = 64,
        units: int = 64,
        dropout: float = 0.5,
        **kwargs: Any,
    ) -> None:
        super().__init__(model, labels, layers, word_dim, dropout, **kwargs)
        check_integers(1, units=units)
        elmo = self.elmo
        if elmo.max_tokens is not None or elmo.keep_sentence_boundaries:
            raise ValueError(
                "The model must give a vector for each token. Received: an Elmo with max_tokens="
                f"{elmo.max_tokens}, keep_sentence_boundaries={elmo.keep_sentence_boundaries}"
            )
        self.has_crf, self.units = bool(crf), int(units)
        self.is_of_entities = tags.scheme_of(self._labels.names) is not None

        dtype = self.dtype_policy
        inputs, x = self._head_inputs()  # (batch, tokens, D)
        mask = inputs["mask"]  # (batch, tokens)
        lstm = keras.layers.LSTM(self.units, return_sequences=True, dtype=dtype)
        x = keras.layers.Bidirectional(lstm, dtype=dtype, name="lstm")(x, mask=mask)
        x = keras.layers.Dropout(self.dropout, dtype=dtype, name="token_dropout")(x)
        x = keras.layers.Dense(len(self._labels), dtype="float32", name="scores")(x)
        x = CRF(name="crf")(x, mask=mask) if self.has_crf else ops.softmax(x)
        self._set_head(inputs, x, 2e-3, self._new_losses)
        if self.has_crf and self.is_of_entities:
            self._forbid(tags.transitions(self._labels.names))

    def _new_losses(self):
        loss = CRFLoss()
        if not self.has_crf:
            loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
        metrics = [CRFAccuracy()]
        if self.is_of_entities:
            metrics.append(EntityF1(self._labels.names))
        return loss, metrics

    def _forbid(self, allowed):
        """Sets the transitions of the CRF that are not allowed, and frees those that are.

        Args:
            allowed: bool, (tags + 1, tags + 1), see `tags.transitions`.
        """
        crf = self.head.get_layer("crf")
        parts = allowed[-1, :-1], allowed[:-1, :-1], allowed[:-1, -1]
        for weight, part in zip((crf.start, crf.transitions, crf.end), parts, strict=True):
            values = ops.convert_to_numpy(weight)
            free = np.where(values < _FORBIDDEN / 2, 0.0, values)
            weight.assign(np.where(part, free, _FORBIDDEN))

    def _encode_labels(self, tokens, labels):
        is_padded = is_table(labels)
        rows = list(np.asarray(labels)) if is_padded else to_list(labels)
        lengths = tokens.row_lengths().numpy()
        if len(rows) != len(lengths):
            raise ValueError(
                "There must be as many lists of tags as sentences. "
                f"Received: {len(lengths):,} sentences, {len(rows):,} lists of tags"
            )
        encoded = [np.zeros(0, np.int32)]
        for index, (row, count) in enumerate(zip(rows, lengths, strict=True)):
            if isinstance(row, str | bytes) or not hasattr(row, "__iter__"):
                raise TypeError(f"The tags of a sentence must be a list. Received: {row!r}")
            row = list(row.numpy() if tf.is_tensor(row) else row)
            if is_padded:  # with "", or with any number
                while row and row[-1] in ("", b""):
                    row.pop()
                row = row if row and isinstance(row[0], str | bytes) else row[:count]
            if len(row) != count:
                (words,) = _words(tokens[index : index + 1])
                raise ValueError(
                    "Each sentence must have as many tags as tokens. Received: "
                    f"{count} tokens and {len(row)} tags in sentence {index}: "
                    f"{' '.join(words)[:80]}"
                )
            try:
                encoded.append(self._labels.encode(row))
            except (ValueError, TypeError) as error:
                raise type(error)(f"{error} of the tags of sentence {index}") from None
        return tf.RaggedTensor.from_row_lengths(np.concatenate(encoded), lengths)

    def _check_targets(self, examples):
        """Warns of tags that the scheme forbids; many of them are allowed from now on."""
        if not (self.has_crf and self.is_of_entities):
            return
        none, allowed = len(self._labels), tags.transitions(self._labels.names)
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
            self._forbid(np.ones_like(allowed))
            message += "; so the tagger may take every transition"
        warnings.warn(message, stacklevel=4)

    def decode(self, outputs, name):
        """The best `"tags"`, int32 (batch, tokens); or `"probabilities"`, (batch, tokens, tags)."""
        if name == "tags":
            return best_tags(outputs)
        return tag_probabilities(outputs) if self.has_crf else outputs

    def tag(self, sentences: Texts, batch_size: int = 32) -> list[list[tuple[str, Any]]]:
        """The most likely tags of sentences.

        Args:
            sentences: raw or as tokens, in any form; see `Elmo.embed`.
            batch_size: int.

        Returns:
            A list of lists of pairs, a token and its tag.
        """
        tokens, names = tokens_of(self.elmo, sentences), self.labels
        found = self._outputs(tokens, "tags", batch_size)
        return [
            [(word, names[tag]) for word, tag in zip(words, row, strict=True)]
            for words, row in zip(_words(tokens), found, strict=True)
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
        if not self.is_of_entities:
            raise ValueError(
                "The labels must be tags like B-PER, I-PER and O. "
                f"Received: labels={self._labels.names}"
            )
        rows = as_rows(texts, self.elmo.tokenizer)
        tokens = tokens_of(self.elmo, rows)
        sources = [row if isinstance(row, str) else None for row in map(_as_str, rows)]
        raw = [source for source in sources if source is not None]
        spans = iter(token_spans_of_texts(raw, self.elmo.tokenizer) if raw else ())
        result = []
        for source, words, row in zip(
            sources, _words(tokens), self._outputs(tokens, "tags", batch_size), strict=True
        ):
            found = tags.entities(row, self._labels.names)
            if source is None:
                result.append([Entity(label, a, b, " ".join(words[a:b])) for label, a, b in found])
                continue
            places = next(spans)
            found = [(label, places[a][0], places[b - 1][1]) for label, a, b in found]
            result.append([Entity(label, a, b, source[a:b]) for label, a, b in found])
        return result

    def serving_signatures(self) -> dict[str, Any]:
        """The functions that `export_saved_model` writes, by the names of their signatures.

        `serving_default` takes `text`, string (batch,), and returns, for each token, (batch,
        tokens): `tokens` and `tags`, strings; `starts` and `ends`, int32, the first byte of the
        token in the text and the one after its last; and `probabilities`, float32, of its tag.
        Strings are padded with `""`. `tokens` takes `tokens`, string (batch, tokens), padded with
        `""`, and returns `tokens`, `tags` and `probabilities`.
        """
        names = tf.constant([*self._labels.as_strings(), ""])

        def outputs(tokens):
            found = self(tokens)
            probabilities, best = (self.decode(found, name) for name in ("probabilities", "tags"))
            mask = tf.sequence_mask(tokens.row_lengths(), tf.shape(best)[1])
            best = tf.where(mask, best, len(self._labels))
            return {
                "tokens": with_a_column(tokens.to_tensor(""), ""),
                "tags": tf.gather(names, best),
                "probabilities": tf.reduce_max(
                    tf.where(tf.one_hot(best, len(self._labels)) > 0, probabilities, 0), -1
                ),
            }

        def from_text(texts):
            tokens, *offsets = self.elmo.tokenizer.tokenize_with_offsets(texts)
            result = outputs(tokens)
            for name, offset in zip(("starts", "ends"), offsets, strict=True):
                result[name] = with_a_column(tf.cast(offset, tf.int32).to_tensor(), 0)
            return result

        tokens_input = tf.TensorSpec([None, None], tf.string, "tokens")
        from_tokens = (lambda tokens: outputs(to_tokens(tokens, None)), [tokens_input])
        if self.elmo.tokenizer is None:
            return {"serving_default": from_tokens}
        text_input = tf.TensorSpec([None], tf.string, "text")
        return {"serving_default": (from_text, [text_input]), "tokens": from_tokens}

    def get_config(self):
        return {**super().get_config(), "crf": self.has_crf, "units": self.units}


def _words(tokens):
    """The tokens of each sentence as lists of `str`."""
    return [[w.decode("utf-8", "surrogateescape") for w in row] for row in tokens.to_list()]


def _as_str(row):
    return row.decode("utf-8", "surrogateescape") if isinstance(row, bytes) else row
