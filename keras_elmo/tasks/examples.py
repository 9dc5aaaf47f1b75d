"""Texts and what belongs to each of them, in any form, as `Examples`."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from keras_elmo.checks import is_number, short_repr
from keras_elmo.text.reading import read_tokens
from keras_elmo.text.tensors import ragged_tokens

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
        wrong = [class_weight]
        if self.targets.dtype == tf.int32:  # one label of a text, or of a token
            if isinstance(class_weight, Mapping):
                items = class_weight.items()
                wrong = [k for k, w in items if k not in labels.names or not _is_weight(w)]
            elif str(class_weight) == "balanced" and self.stream is None:
                flat = getattr(self.targets, "flat_values", self.targets)  # of ragged tags
                counts = np.bincount(flat, minlength=len(labels))
                mean = counts.sum() / np.count_nonzero(counts)
                return self.times(mean / np.maximum(counts, 1))
        if wrong:
            raise ValueError(
                '`class_weight` must be "balanced", or a dict from labels to weights, with labels '
                f"that are one of {', '.join(labels.as_strings())}; with several labels a text it "
                "must be None (pass `sample_weight`), and with `steps_per_epoch` not balanced. "
                f"Received: {short_repr(wrong[0])}"
            )
        factors = [float(class_weight.get(label, 1)) for label in labels.names]
        stream = self.stream and (lambda: (batch.times(factors) for batch in self.stream()))
        return self.times(factors)._replace(stream=stream)


def _is_weight(number):
    return is_number(number) and 0 <= number < float("inf")


def read_examples(task, x, y=None, sample_weight=None, batch_size=32, steps=None):
    """Texts and labels in any form as `Examples`. With `steps` batches of them stay a stream."""
    stream = None
    is_iterator = isinstance(x, Iterator)
    if not isinstance(x, tf.data.Dataset | keras.utils.PyDataset) and (
        y is not None or not is_iterator
    ):
        parts = [_encode(task, x, y, sample_weight)]
    else:
        if y is not None or sample_weight is not None:
            rule = "With a dataset of batches, `y` and `sample_weight` must be None."
            received = f"y={short_repr(y)}, sample_weight={short_repr(sample_weight)}"
            raise ValueError(f"{rule} Received: {received}")
        batches = _batches(x, steps)
        first = list(itertools.islice(batches, None if steps is None else _LOOK_AHEAD))
        parts = [_encode_batch(task, *pair) for pair in enumerate(first)]
        batch_size = parts[0].count() if parts else 0
        if steps is not None:
            rest = itertools.chain(first, batches)

            def stream():
                found = rest if is_iterator else _batches(x, steps)
                return (_encode_batch(task, *pair) for pair in enumerate(found))

    if not sum(part.count() for part in parts):
        raise ValueError("There must be texts. Received: none")
    columns = [part.columns() for part in parts]
    columns = {name: tf.concat([each[name] for each in columns], 0) for name in columns[0]}
    return Examples(**columns, batch_size=batch_size, stream=stream)


def read_validation(task, data, batch_size, steps):
    """`validation_data` as `Examples`."""
    if isinstance(data, tf.data.Dataset | keras.utils.PyDataset | Iterator):
        data = (data,)
    elif not (isinstance(data, tuple | list) and len(data) in (2, 3)):
        raise ValueError(
            "`validation_data` must be a pair of texts and labels, a triple with weights, or a "
            f"`tf.data.Dataset` or other batches of them. Received: {short_repr(data)}"
        )
    try:
        return read_examples(task, *data, batch_size=batch_size, steps=steps)
    except (ValueError, TypeError) as error:
        raise type(error)(f"`validation_data`: {error}") from None


def _batches(x, steps):
    """An iterator of the batches of a dataset, a `PyDataset` or an iterator."""
    if isinstance(x, keras.utils.PyDataset):
        if steps is None and x.num_batches is None:
            raise ValueError(f"{_MUST_END} Received: {short_repr(x)}")
        numbers = itertools.count() if x.num_batches is None else range(x.num_batches)
        return (x[number] for number in numbers)
    if isinstance(x, tf.data.Dataset):
        check_dataset(x, has_labels=True, steps=steps)
    return iter(x)


def _encode_batch(task, index, batch):
    try:
        if not (isinstance(batch, tuple | list) and len(batch) in (2, 3)):
            rule = "Each batch must be a tuple of texts and labels, and perhaps sample weights."
            raise ValueError(f"{rule} Received: {short_repr(batch)} as that")
        return _encode(task, *batch)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{error} of batch {index}") from None


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
        if not (np.isfinite(weights).all() and (weights >= 0).all()):
            raise ValueError
    except (ValueError, TypeError):  # of another length, or no numbers
        raise ValueError(
            "`sample_weight` must hold a number that is not negative, infinite or NaN for each of "
            f"the {count:,} texts. Received: {short_repr(sample_weight)}"
        ) from None
    if isinstance(targets, tf.RaggedTensor):
        # Of the shape of the targets: Keras's graph takes one rank in all calls of `fit`.
        return targets.with_flat_values(tf.repeat(weights, targets.row_lengths()))
    return tf.constant(weights)


def tokens_of(elmo, texts):
    """The tokens that an `Elmo` reads of texts, string RaggedTensor, (N, None)."""
    if isinstance(texts, tf.data.Dataset):
        check_dataset(texts, has_labels=False)
    return ragged_tokens(read_tokens(texts, elmo.tokenizer, elmo.max_tokens))


def check_dataset(dataset, has_labels, steps=None):
    """Raises an error if a dataset does not hold batches of texts, and perhaps of labels and of
    weights, or has no end.
    """
    spec = dataset.element_spec
    texts, *others = spec if isinstance(spec, tuple) else (spec,)
    have_axes = [bool(getattr(part, "shape", tf.TensorShape([])).rank) for part in (texts, *others)]
    if len(others) > 2 or has_labels > len(others) or not all(have_axes):
        parts = "texts and labels, and perhaps sample weights" if has_labels else "texts"
        raise ValueError(
            f"A `tf.data.Dataset` must hold batches of {parts}: `dataset.batch(32)`. "
            f"Received: a dataset of {spec}"
        )
    if steps is None and dataset.cardinality() == tf.data.INFINITE_CARDINALITY:
        raise ValueError(f"{_MUST_END} Received: a dataset of {spec}")
