"""Texts with labels and with tags, for the tests of the tasks."""

import numpy as np
import tensorflow as tf

FILMS = ["a good film", "an awful mess", "good , good fun", "awful", "", "café good ü"] * 4
LABELS = ["pos", "neg", "pos", "neg", "neg", "pos"] * 4
NAMES = ["neg", "pos"]

# From the shortest to the longest, as `evaluate` has them: the loss is a mean over batches.
_TAGGED = [
    ("Ada", "B-PER"),
    ("no one", "O O"),
    ("Ada met Charles", "B-PER O B-PER"),
    ("London calls Ada Lovelace", "B-LOC O B-PER I-PER"),
    ("caf\u00e9 in  New\u00a0York !", "O O B-LOC I-LOC O"),
]
TEXTS = [text for text, _ in _TAGGED for _ in range(4)]
SENTENCES = [text.split() for text in TEXTS]
TAGS = [tags.split() for _, tags in _TAGGED for _ in range(4)]
TAG_NAMES = ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]


def padded(rows, width=7):
    return np.array([row + [""] * (width - len(row)) for row in rows])


def batched(batch_size, *columns):
    """A dataset of columns, of which lists of lists are ragged."""
    make = {True: tf.ragged.constant, False: tf.constant}
    columns = [make[isinstance(each[0], list)](each) for each in columns]
    return tf.data.Dataset.from_tensor_slices(tuple(columns)).ragged_batch(batch_size)
