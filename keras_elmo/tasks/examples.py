"""Texts and what belongs to each of them, in any form, as `Examples`."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_elmo.checks import is_number
from keras_elmo.models.sentences import Tokens, as_python, as_sentences, read_tokens
from keras_elmo.text.inputs import strings, to_tokens


def tokens_of(elmo, texts):
    """The tokens that an `Elmo` reads of texts, string RaggedTensor, (N, None)."""
    rows = as_rows(texts, elmo.tokenizer)
    sentences = list(read_tokens(elmo.tokenizer, rows, elmo.max_tokens))
    words = tf.constant([word for sentence in sentences for word in sentence], tf.string)
    lengths = tf.constant([len(sentence) for sentence in sentences], tf.int64)
    return tf.RaggedTensor.from_row_lengths(words, lengths)


def as_rows(texts, tokenizer):
    """Texts as a list of raw strings and of lists of tokens.

    They come as `Elmo.embed` takes them, also one string, padded tokens beside a tokenizer, or a
    `tf.data.Dataset` of batches.
    """
    if isinstance(texts, tf.data.Dataset):
        dataset = check_dataset(texts, has_labels=False).map(lambda texts, *_: texts)
        return [row for batch in dataset for row in as_rows(batch, tokenizer)]
    if isinstance(texts, str | bytes):
        return [texts]
    if isinstance(texts, Tokens):
        return texts
    if isinstance(texts, tf.RaggedTensor):
        return Tokens(texts.to_list())
    if not hasattr(texts, "__array__"):
        return [as_python(text, row) for row, text in enumerate(as_sentences(None, texts))]
    shape = np.shape(texts)
    if len(shape) == 2 and (tokenizer is None or shape[1] != 1):
        return to_tokens(strings(texts), None).to_list()
    return np.reshape(np.asarray(texts), (-1,)).tolist()


def check_dataset(dataset, has_labels, steps=None):
    """A dataset of batches of texts, and perhaps of labels and of weights, as it can be read.

    Padded tokens become ragged, since a batch of them may have one column, as raw strings have.
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
    if isinstance(texts, tf.TensorSpec) and texts.shape.rank == 2 and texts.shape[1] != 1:
        return dataset.map(lambda texts, *others: (to_tokens(texts, None), *others))
    return dataset


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
