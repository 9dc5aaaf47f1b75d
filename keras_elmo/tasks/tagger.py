"""`Tagger`."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from keras_elmo import tags
from keras_elmo.annotations import Labels, Source, Texts
from keras_elmo.characters import token_spans_of_texts
from keras_elmo.checks import check_integers, short_repr, warn
from keras_elmo.export.signatures import TEXT_INPUT, TOKENS_INPUT
from keras_elmo.layers.crf import CRF, best_tags, tag_probabilities
from keras_elmo.layers.crf_loss import CRFAccuracy, CRFLoss
from keras_elmo.layers.entity_f1 import EntityF1
from keras_elmo.models.elmo import Elmo
from keras_elmo.tasks.batches import dense
from keras_elmo.tasks.examples import sentences_of, tokens_of
from keras_elmo.tasks.labels import as_lists
from keras_elmo.tasks.report import report_of_entities, report_of_labels
from keras_elmo.tasks.task_model import TaskModel
from keras_elmo.text.reading import without_padding
from keras_elmo.text.tensors import to_tokens

# The score of a transition that the scheme forbids. No sum of other scores makes up for it, and
# yet the loss stays finite where the right tags of some sentence have it by mistake.
_FORBIDDEN = -1e4
_MAX_FAULTY_SHARE = 0.01  # of sentences that break the scheme: with more, it is another scheme


class _AllowedLoss(CRFLoss):
    """Leaves out the sentences whose right tags the CRF may not take."""

    def call(self, y_true, y_pred):
        losses = super().call(y_true, y_pred)  # (batch, tokens)
        is_faulty = ops.any(losses > -_FORBIDDEN / 2, axis=1, keepdims=True)
        return ops.where(is_faulty, 0.0, losses)


class Entity(NamedTuple):
    """An entity of a text: `label`, its type; `start` and `end`, the places of its first character
    and of the one after its last; and `text`, its characters. In a list of tokens `start` and `end`
    count tokens, and `text` has spaces between them. `score` is the least probability of its tags.
    """

    label: str
    start: int
    end: int
    text: str
    score: float


class TaggedToken(NamedTuple):
    """A token of a text: `text`, `tag`, and `score`, the probability of the tag; `start` and `end`,
    see `Entity`.
    """

    text: str
    tag: Any
    score: float
    start: int
    end: int


@keras.saving.register_keras_serializable("keras_elmo")
class Tagger(TaskModel):
    """A tagger of tokens: an `Elmo`, an LSTM in both directions, and a CRF.

    Its metrics are the accuracy of tokens and, if the labels are tags of the scheme BIO or IOBES,
    the F1 score of entities. The CRF then takes no transition that the scheme forbids, such as
    I-PER after B-LOC. The model is compiled from the start.

    Args:
        model, layers, word_dim, **kwargs: see `TextClassifier`.
        labels: the tags, see `TextClassifier`; also a column of lists of tags.
        crf: bool. `False`: each token's tag is chosen by itself, with a softmax.
        units: int. Units of the LSTM in each direction.
        dropout: float, from 0 to below 1. The dropped share of ELMo's vectors and the LSTM's.

    Call arguments:
        inputs: sentences, raw or as tokens, as `keras_elmo.strings` says.

    Returns:
        What `CRF` returns, (batch, tokens, tags, tags); with `crf=False` probabilities, float,
        (batch, tokens, tags).

    Raises:
        ValueError, TypeError: see `TextClassifier`; or the `Elmo` has `max_tokens` or keeps
            sentence boundaries.

    Example:

    >>> tagger = Tagger("tiny", labels=["O", "B-PER", "I-PER"])
    >>> tagger.fit(sentences, tags_of_sentences, epochs=10)
    >>> tagger.tag([["Ada", "met", "Charles"]])
    [[('Ada', 'B-PER'), ('met', 'O'), ('Charles', 'B-PER')]]

    Reference: Lample et al. 2016; Peters et al. 2018, section 4.
    """

    main_output = "tags"
    texts_read = 8_000

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
        softmax_loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=-1)
        f1 = [EntityF1(self._labels.names)] if self.is_of_entities else []
        return _AllowedLoss() if self.has_crf else softmax_loss, [CRFAccuracy(), *f1]

    def _forbid(self, allowed):
        """Sets the CRF's transitions that are not allowed, see `tags.transitions`; frees others."""
        crf = self.head.get_layer("crf")
        parts = allowed[-1, :-1], allowed[:-1, :-1], allowed[:-1, -1]
        for weight, part in zip((crf.start, crf.transitions, crf.end), parts, strict=True):
            values = ops.convert_to_numpy(weight)
            free = np.where(values < _FORBIDDEN / 2, 0.0, values)
            weight.assign(np.where(part, free, _FORBIDDEN))

    def encode_labels(self, tokens, labels):
        lengths = tokens.row_lengths().numpy().tolist()
        rows, encoded = as_lists(labels, lengths), []
        if len(rows) != len(lengths):
            received = f"{len(lengths):,} sentences, {len(rows):,} lists of tags"
            raise ValueError(f"Each sentence must have a list of tags. Received: {received}")
        for index, (row, count) in enumerate(zip(rows, lengths, strict=True)):
            if not isinstance(row, list):
                raise TypeError(f"The tags of a sentence must be a list. Received: {row!r}")
            row = without_padding(row)
            if len(row) != count:
                (words,) = _words(tokens[index : index + 1])
                raise ValueError(
                    f"Each sentence must have as many tags as tokens. Received: {count} tokens and "
                    f"{len(row)} tags in sentence {index}: {' '.join(words)[:80]}"
                )
            encoded += self._labels.encode(row, f" of the tags of sentence {index}").tolist()
        return tf.RaggedTensor.from_row_lengths(np.array(encoded, np.int32), lengths)

    def _check_targets(self, examples):
        """Warns of tags that the scheme forbids; many of them are allowed from now on. Warns also
        of labels for which there is no scheme."""
        if others := tags.others_than_tags(self.labels):
            warn(
                "All labels must be tags like B-PER, I-PER and O for an F1 of entities, and for "
                f"`entities`. Received: {short_repr(others)}, too"
            )
        if not (self.has_crf and self.is_of_entities):
            return
        allowed, none = tags.transitions(self._labels.names), len(self._labels)
        rows = examples.targets.to_tensor(none).numpy()
        rows = np.pad(rows, [(0, 0), (1, 1)], constant_values=none)
        faults = np.argwhere(~allowed[rows[:, :-1], rows[:, 1:]])  # (faults, 2)
        if not len(faults):
            return
        num_faulty, (row, column) = len(set(faults[:, 0])), faults[0]
        before, tag = ([*self._labels.as_strings(), "no tag"][k] for k in rows[row, column:][:2])
        effect = "they are left out of the loss"
        if num_faulty > _MAX_FAULTY_SHARE * len(rows):
            self._forbid(np.ones_like(allowed))
            effect = "so the tagger may take every transition"
        warn(
            f"The tags of {num_faulty:,} of {len(rows):,} sentences break their scheme, for "
            f"example {tag} after {before} in sentence {row}; {effect}"
        )

    def decode(self, outputs, name):
        """The best `"tags"`, int32 (batch, tokens); or `"probabilities"`, (batch, tokens, tags)."""
        if name == "tags":
            return best_tags(outputs)
        return tag_probabilities(outputs) if self.has_crf else outputs

    def tag(
        self, texts: Texts, batch_size: int = 32, details: bool = False
    ) -> list[list[tuple[str, Any]]] | list[list[TaggedToken]]:
        """The most likely tags of sentences, raw or as tokens, in any form; see `Elmo.embed`.

        Returns:
            A list of lists of pairs, a token and its tag; with `details` of `TaggedToken`.

        Raises:
            ValueError: with `details`, the tokenizer does not say where its tokens are.

        Example:

        >>> tagger.tag(["Ada met Charles."], details=True)[0][0]
        TaggedToken(text='Ada', tag='B-PER', score=0.98, start=0, end=3)
        """
        names = self.labels
        if not details:
            tokens = tokens_of(self.elmo, texts)
            (found,) = self._outputs(tokens, ["tags"], batch_size)
            return [
                [(word, names[tag]) for word, tag in zip(words, row, strict=True)]
                for words, row in zip(_words(tokens), found, strict=True)
            ]
        texts = sentences_of(self.elmo, texts)
        tokens = tokens_of(self.elmo, texts)
        raw = [_as_str(text) for text in texts if isinstance(text, str | bytes)]
        spans = iter(token_spans_of_texts(raw, self.elmo.tokenizer) if raw else [])
        found, result = self._outputs(tokens, ["tags", "probabilities"], batch_size), []
        for text, words, best, scores in zip(texts, _words(tokens), *found, strict=True):
            is_raw = isinstance(text, str | bytes)
            places = next(spans) if is_raw else [(k, k + 1) for k in range(len(words))]
            row = zip(words, best, scores, places, strict=True)
            result.append([TaggedToken(w, names[k], float(p[k]), *place) for w, k, p, place in row])
        return result

    def entities(self, texts: Texts, batch_size: int = 32) -> list[list[Entity]]:
        """The entities of texts, raw or as lists of tokens, for tags of the scheme BIO or IOBES.

        Returns:
            A list of lists of `Entity`.

        Raises:
            ValueError: the labels are of no such scheme, or the tokenizer does not say where its
                tokens are.

        Example:

        >>> tagger.entities(["Ada met Charles."])[0][0]
        Entity(label='PER', start=0, end=3, text='Ada', score=0.98)
        """
        if not self.is_of_entities:
            raise ValueError(
                "The labels must be tags like B-PER, I-PER and O; for other tags call `tag`, with "
                f"`details=True` for their places. Received: labels="
                f"{tags.others_than_tags(self.labels) or self.labels}"
            )
        texts, result = sentences_of(self.elmo, texts), []
        for text, tokens in zip(texts, self.tag(texts, batch_size, details=True), strict=True):
            found = []
            for label, first, end in tags.entities([token.tag for token in tokens]):
                part = tokens[first:end]
                start, end = part[0].start, part[-1].end
                words = " ".join(token.text for token in part)
                shown = _as_str(text)[start:end] if isinstance(text, str | bytes) else words
                score = min(token.score for token in part)
                found.append(Entity(label, start, end, shown, score))
            result.append(found)
        return result

    def _report(self, targets, found):
        if self.is_of_entities:
            return report_of_entities(targets.to_list(), found, self.labels)
        found = np.concatenate([np.zeros(0, np.int32), *found])
        return report_of_labels(targets.flat_values.numpy(), found, self.labels)

    def serving_signatures(self) -> dict[str, Any]:
        """The functions that `export_saved_model` writes, by the names of their signatures.

        `serving_default` takes `text`, string (batch,), and returns, (batch, tokens), `tokens` and
        `tags`, strings, padded with `""`; `starts` and `ends`, int32, the first byte of the token
        in the text and the one after its last; and `probabilities`, float32, of its tag. `tokens`
        takes padded `tokens`, string (batch, tokens), and returns all but `starts` and `ends`.
        """
        names, count = tf.constant([*self._labels.as_strings(), ""]), len(self._labels)

        def outputs(tokens):
            found = self(tokens)
            best, probabilities = (self.decode(found, name) for name in ("tags", "probabilities"))
            mask = tf.sequence_mask(tokens.row_lengths(), tf.shape(best)[1])
            best = tf.where(mask, best, count)  # which is "", and has the probability 0
            return {
                "tokens": dense(tokens, ""),
                "tags": tf.gather(names, best),
                "probabilities": tf.reduce_sum(tf.one_hot(best, count) * probabilities, -1),
            }

        def from_text(texts):
            tokens, *offsets = self.elmo.tokenizer.tokenize_with_offsets(texts)
            starts, ends = (dense(tf.cast(offset, tf.int32), 0) for offset in offsets)
            return {**outputs(tokens), "starts": starts, "ends": ends}

        from_tokens = (lambda tokens: outputs(to_tokens(tokens, None)), [TOKENS_INPUT])
        if self.elmo.tokenizer is None:
            return {"serving_default": from_tokens}
        return {"serving_default": (from_text, [TEXT_INPUT]), "tokens": from_tokens}

    def get_config(self):
        return {**super().get_config(), "crf": self.has_crf, "units": self.units}


def _words(tokens):
    return [list(map(_as_str, row)) for row in tokens.to_list()]


def _as_str(text):
    return text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
