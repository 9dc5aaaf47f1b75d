"""`LabelIndex`: labels to numbers and back."""

import contextlib

import numpy as np
import tensorflow as tf

from keras_elmo.checks import is_number, join_names, short_repr


class LabelIndex:
    """The labels of a task, in an order that gives each its number.

    Args:
        labels: strings, ints or bools, at least two different ones: a list of the labels, or any
            column of data that has them, also of lists of them. The order is that in which they
            first appear; a set is sorted.

    Attributes:
        names: list. Each label once, as a plain Python value.
    """

    def __init__(self, labels):
        is_column = hasattr(labels, "__iter__") or isinstance(labels, tf.RaggedTensor)
        if isinstance(labels, str | bytes | dict) or not is_column:
            raise TypeError(
                "`labels` must be a list of labels, or a column of data that has them. "
                f"Received: labels={short_repr(labels)}"
            )
        names = dict.fromkeys(_plain(label, row) for row, label in _single_labels(labels))
        self.names = list(names)
        if isinstance(labels, set | frozenset):
            self.names.sort(key=lambda label: (type(label).__name__, label))
        self._index_of = {label: index for index, label in enumerate(self.names)}
        # Files, servers and class weights show labels as strings.
        if len(self.names) < 2 or len(set(self.as_strings())) < len(self.names):
            raise ValueError(
                "There must be at least two labels, which differ also as strings. "
                f"Received: {short_repr(self.names)}"
            )

    def __len__(self):
        return len(self.names)

    def as_strings(self):
        """The labels as strings, for a SavedModel."""
        return [str(label) for label in self.names]

    def encode(self, values):
        """Labels to numbers, int32 (N,). The error for what is not a label names its row."""
        indices = []
        for row, value in enumerate(values):
            index = self._index_of.get(_plain(value, row))
            if index is None:
                raise ValueError(
                    f"Each label must be one of {join_names(self.as_strings())}. "
                    f"Received: {short_repr(value)} in row {row}"
                )
            indices.append(index)
        return np.array(indices, np.int32)

    def encode_sets(self, rows):
        """Sets of labels to ones and zeros, float32 (N, labels).

        Args:
            rows: ones and zeros, (N, labels), as whatever becomes such an array (an array, a
                tensor, a table); or a column of lists, tuples or sets of labels.
        """
        is_padded = is_table(rows)
        if is_padded and np.asarray(rows).dtype.kind in "biuf":
            rows = np.asarray(rows)
            if rows.shape[1] != len(self) or not np.isin(rows, (0, 1)).all():
                raise ValueError(
                    f"An array of labels must hold 1 or 0 for each of the {len(self)} labels. "
                    f"Received: an array of shape {rows.shape}"
                )
            return rows.astype(np.float32)
        rows = to_list(rows)
        result = np.zeros((len(rows), len(self)), np.float32)
        for row, labels in enumerate(rows):
            if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
                raise TypeError(
                    "With `multi_label=True` there must be a list of labels for each text. "
                    f"Received: {short_repr(labels)} in row {row}"
                )
            try:
                labels = without_padding(labels) if is_padded else labels
                indices = self.encode(labels)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{error} of the labels of text {row}") from None
            # To name both of the labels 0 and 1 is what nobody means.
            is_doubtful = len(labels) == len(self) == 2 and set(labels) == {0, 1}
            if len(set(indices)) < len(indices) or is_doubtful:
                raise ValueError(
                    "A list of labels must name each label once; ones and zeros must be an array, "
                    f"`np.array(labels)`. Received: {short_repr(labels)} in row {row}"
                )
            result[row, indices] = 1
        return result


def to_list(values):
    """A column of labels as a list: a list, an array, a tensor, or a pandas column."""
    if isinstance(values, tf.RaggedTensor):
        values = values.to_list()
    elif hasattr(values, "__array__"):
        values = np.asarray(values)
        if values.ndim == 2 and values.shape[1] == 1:  # a column, as in many Keras models
            values = values[:, 0]
    is_single = isinstance(values, str | bytes) or not hasattr(values, "__iter__")
    if is_single or (isinstance(values, np.ndarray) and not values.ndim):
        raise TypeError(
            "There must be a list of labels, with one for each text. "
            f"Received: {short_repr(values)}"
        )
    return list(values)


def is_table(labels):
    """Whether labels have two axes, and padding: an array, a tensor, a pandas table."""
    has_array = hasattr(labels, "__array__") and not isinstance(labels, tf.RaggedTensor)
    return has_array and len(labels.shape) == 2


def without_padding(labels):
    """The labels of a row of a table, without `""` and negative numbers."""
    return [x for x in labels if not (x in ("", b"") or (is_number(x) and x < 0))]


def _single_labels(labels):
    """Yields pairs: a row, and a label of it; a row may be a list of labels."""
    is_padded = is_table(labels)
    for row, value in enumerate(to_list(labels)):
        if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
            yield row, value
            continue
        if tf.is_tensor(value):
            value = value.numpy()
        for label in without_padding(value) if is_padded else value:
            yield row, label


def _plain(label, row):
    """A label as a plain Python value."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            label = label.decode("utf-8")
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # a column of integers that had missing values is one of floats
    if not isinstance(label, str | int):
        raise TypeError(
            f"Labels must be strings, ints or bools. Received: {short_repr(label)} "
            f"({type(label).__name__}) in row {row}"
        )
    return label
