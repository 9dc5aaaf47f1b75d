"""Texts and what belongs to each of them, in any form, as `Examples`."""

from typing import Any, NamedTuple

import tensorflow as tf

from keras_elmo.checks import is_number
from keras_elmo.text.reading import read_tokens
from keras_elmo.text.tensors import ragged_tokens


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
        raise ValueError(
            "A `tf.data.Dataset` must have an end (`dataset.take(n)`), or `fit` must have its "
            f"`steps_per_epoch`, and `evaluate` its `steps`. Received: a dataset of {spec}"
        )


class Examples(NamedTuple):
    """Texts, what belongs to each, and how they become batches.

    With a `stream`, the batches of a dataset that is read as the training goes on, the rest is that
    of its first batches.
    """

    tokens: Any  # string RaggedTensor, (N, None)
    targets: Any  # int32 (N,), float32 (N, labels), or int32 RaggedTensor, (N, None)
    weights: Any = None  # float32, (N,) or like ragged targets
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
