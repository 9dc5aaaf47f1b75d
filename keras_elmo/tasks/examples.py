"""Texts and what belongs to each of them, in any form, as `Examples`."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_elmo.checks import is_number, join_names, short_repr
from keras_elmo.text.reading import list_sentences, read_tokens
from keras_elmo.text.tensors import ragged_tokens

_DATASETS = tf.data.Dataset | keras.utils.PyDataset
_LOOK_AHEAD = 32  # batches of a stream that are checked before the training
_MUST_END = (
    "A dataset must have an end (`dataset.take(n)`), or `fit` must have its `steps_per_epoch`, and "
    "`evaluate` its `steps`."
)


class Examples(NamedTuple):
    """Texts, what belongs to each, and how they become batches.

    A `stream` is read as the training goes on: a function that returns an iterator of batches,
    which are `Examples`. The rest is then that of its first batches.
    """

    tokens: Any  # string RaggedTensor, (N, None)
    targets: Any  # int32 (N,), float32 (N, labels), or int32 RaggedTensor, (N, None)
    weights: Any = None  # float32, (N,), or like targets that are ragged
    batch_size: int = 32
    stream: Any = None

    def count(self):
        return int(self.tokens.nrows())

    def columns(self):
        columns = {"tokens": self.tokens, "targets": self.targets, "weights": self.weights}
        return {name: each for name, each in columns.items() if each is not None}

    def rows(self, rows):
        columns = {name: tf.gather(each, rows) for name, each in self.columns().items()}
        return self._replace(**columns)

    def by_length(self):
        """From the shortest text to the longest. Batches of like length have little padding."""
        return self.rows(tf.argsort(self.tokens.row_lengths(), stable=True))

    def split(self, share):
        """All examples but the last, and these, which are a share of all."""
        count = self.count()
        first = int(count * (1 - share)) if is_number(share) else 0
        if not 0 < first < count or self.stream is not None:
            raise ValueError(
                "`validation_split` must be from 0 to below 1, both parts must have a text, and a "
                "`tf.data.Dataset` must be read without `steps_per_epoch`. "
                f"Received: validation_split={share!r} of {count:,} texts"
            )
        return self.rows(tf.range(first)), self.rows(tf.range(first, count))

    def times(self, factors):
        """With other weights: those that are there, times the factor of each target's label."""
        factors = tf.gather(tf.constant(factors, tf.float32), self.targets)
        return self._replace(weights=factors if self.weights is None else self.weights * factors)

    def weighted(self, class_weight, labels):
        """With the weights of classes: a dict from `labels`, a `LabelIndex`, or `"balanced"`."""
        if class_weight is None:
            return self
        factors, has_one_label = None, self.targets.dtype == tf.int32  # a text, or a token
        if has_one_label and isinstance(class_weight, Mapping):
            is_right = all(is_number(x) and 0 <= x < np.inf for x in class_weight.values())
            if is_right and set(class_weight) <= set(labels.names):
                factors = [float(class_weight.get(label, 1)) for label in labels.names]
        elif has_one_label and str(class_weight) == "balanced" and self.stream is None:
            flat = getattr(self.targets, "flat_values", self.targets)  # of ragged tags
            counts = np.bincount(flat, minlength=len(labels))
            factors = counts.sum() / np.count_nonzero(counts) / np.maximum(counts, 1)
        if factors is None:
            raise ValueError(
                '`class_weight` must be "balanced", or a dict from labels to weights, with labels '
                f"that are one of {join_names(labels.as_strings())}; with several labels a text it "
                "must be None (pass `sample_weight`), and with `steps_per_epoch` not balanced. "
                f"Received: class_weight={short_repr(class_weight)}"
            )
        stream = self.stream and (lambda: (batch.times(factors) for batch in self.stream()))
        return self.times(factors)._replace(stream=stream)


def read_examples(task, x, y=None, sample_weight=None, batch_size=32, steps=None):
    """Texts and labels in any form as `Examples`. With `steps` batches of them stay a stream."""
    stream = None
    is_iterator = isinstance(x, Iterator)
    if not isinstance(x, _DATASETS) and not (is_iterator and y is None):
        parts = [_encode(task, x, y, sample_weight)]
    else:
        if y is not None or sample_weight is not None:
            rule = "With a dataset of batches, `y` and `sample_weight` must be None."
            received = f"y={short_repr(y)}, sample_weight={short_repr(sample_weight)}"
            raise ValueError(f"{rule} Received: {received}")
        batches = _batches(x, steps)
        first = list(itertools.islice(batches, None if steps is None else _LOOK_AHEAD))
        parts = list(_encode_batches(task, first))
        batch_size = parts[0].count() if parts else 0
        if steps is not None:
            rest = itertools.chain(first, batches)

            def stream():
                return _encode_batches(task, rest if is_iterator else _batches(x, steps))

    if not sum(part.count() for part in parts):
        raise ValueError("There must be texts. Received: none")
    columns = [part.columns() for part in parts]
    columns = {name: tf.concat([each[name] for each in columns], 0) for name in columns[0]}
    return Examples(**columns, batch_size=batch_size, stream=stream)


def read_validation(task, data, batch_size, steps):
    """`validation_data` as `Examples`."""
    try:
        columns = (data,) if isinstance(data, _DATASETS | Iterator) else _as_columns(data)
        return read_examples(task, *columns, batch_size=batch_size, steps=steps)
    except (ValueError, TypeError) as error:
        raise type(error)(f"`validation_data`: {error}") from None


def _as_columns(batch):
    if not (isinstance(batch, tuple | list) and len(batch) in (2, 3)):
        rule = "There must be a tuple of texts and labels, and perhaps sample weights."
        raise ValueError(f"{rule} Received: {short_repr(batch)}")
    return batch


def _batches(x, steps):
    """An iterator of the batches of a dataset, a `PyDataset` or an iterator."""
    if isinstance(x, keras.utils.PyDataset):
        if steps is None and x.num_batches is None:
            raise ValueError(f"{_MUST_END} Received: {short_repr(x)}")
        numbers = itertools.count() if x.num_batches is None else range(x.num_batches)
        return (x[number] for number in numbers)
    _check_dataset(x, steps)
    return iter(x)


def _encode_batches(task, batches):
    for index, batch in enumerate(batches):
        try:
            part = _encode(task, *_as_columns(batch))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} of batch {index}") from None
        yield part


def _encode(task, texts, labels, sample_weight=None):
    if labels is None:
        raise ValueError("There must be labels for the texts. Received: y=None")
    tokens = tokens_of(task.elmo, texts)
    targets = task.encode_labels(tokens, labels)
    weights = None if sample_weight is None else _weights(sample_weight, targets)
    return Examples(tokens, targets, weights)


def _weights(sample_weight, targets):
    count = targets.shape[0]
    try:
        weights = np.asarray(sample_weight, np.float32).reshape(count)
    except (ValueError, TypeError):  # of another length, or no numbers
        weights = np.array(np.nan)
    if not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(
            "`sample_weight` must hold a number that is not negative, infinite or NaN for each of "
            f"the {count:,} texts. Received: {short_repr(sample_weight)}"
        )
    if isinstance(targets, tf.RaggedTensor):
        # Of the shape of the targets: Keras's graph takes one rank in all calls of `fit`.
        return targets.with_flat_values(tf.repeat(weights, targets.row_lengths()))
    return tf.constant(weights)


def sentences_of(elmo, texts):
    """Texts in any form as a list, see `list_sentences`."""
    _check_dataset(texts)
    return list_sentences(texts, elmo.tokenizer)


def tokens_of(elmo, texts):
    """The tokens that an `Elmo` reads of texts, string RaggedTensor, (N, None)."""
    _check_dataset(texts)
    return ragged_tokens(read_tokens(texts, elmo.tokenizer, elmo.max_tokens))


def _check_dataset(dataset, steps=None):
    """Refuses a `tf.data.Dataset` that does not hold batches, or has no end."""
    if not isinstance(dataset, tf.data.Dataset):
        return
    spec = dataset.element_spec
    shapes = [getattr(column, "shape", tf.TensorShape([])) for column in tf.nest.flatten(spec)]
    if not all(shape.rank for shape in shapes):
        raise ValueError(
            "A `tf.data.Dataset` must hold batches of texts, to train on with their labels: "
            f"`dataset.batch(32)`. Received: a dataset of {spec}"
        )
    if steps is None and dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{_MUST_END} Received: a dataset of {spec}")
