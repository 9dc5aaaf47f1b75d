"""`LabelIndex`: labels to numbers and back."""

import numpy as np
import tensorflow as tf

from keras_elmo.checks import join_names, short_repr


class LabelIndex:
    """The labels of a task, in an order that gives each its number.

    Args:
        labels: list of strings, ints or bools, two at least, each once.

    Attributes:
        names: list. The labels, as plain Python values.

    Raises:
        TypeError: a label is of another type.
        ValueError: there are too few, or one is there twice.
    """

    def __init__(self, labels):
        if isinstance(labels, str | bytes | dict) or not hasattr(labels, "__iter__"):
            raise TypeError(f"`labels` must be a list of labels. Received: labels={labels!r}")
        self.names = [_plain(label, position) for position, label in enumerate(labels)]
        self._index_of = {label: index for index, label in enumerate(self.names)}
        if len(self.names) < 2 or len(self._index_of) < len(self.names):
            raise ValueError(
                "There must be two labels at least, and each of them once. "
                f"Received: {short_repr(self.names)}"
            )

    @classmethod
    def of(cls, values):
        """The labels that occur in data, in sorted order.

        Args:
            values: iterable of labels.
        """
        found = {_plain(value, row) for row, value in enumerate(values)}
        return cls(sorted(found, key=lambda label: (type(label).__name__, label)))

    def __len__(self):
        return len(self.names)

    def as_strings(self):
        """The labels as strings, for a SavedModel."""
        return [str(label) for label in self.names]

    def encode(self, values):
        """Labels to numbers.

        Args:
            values: iterable of labels, of any types that equal those of `names`.

        Returns:
            int32, (N,).

        Raises:
            TypeError: a value cannot be a label.
            ValueError: a value is not one of the labels; the error names it and its row.
        """
        indices = []
        for row, value in enumerate(values):
            index = self._index_of.get(_plain(value, row))
            if index is None:
                raise ValueError(
                    f"Each label must be one of {self._shown()}. Received: {short_repr(value)} in "
                    f"row {row}"
                )
            indices.append(index)
        return np.array(indices, np.int32)

    def encode_sets(self, rows):
        """Sets of labels to ones and zeros.

        Args:
            rows: a list with a list, tuple or set of labels for each row; or ones and zeros,
                (N, labels), as an array.

        Returns:
            float32, (N, labels).

        Raises:
            TypeError: a row is not such a collection.
            ValueError: see `encode`.
        """
        if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind in "bif":
            if rows.shape[1] != len(self) or not np.isin(rows, (0, 1)).all():
                raise ValueError(
                    f"An array of labels must hold 1 or 0 for each of the {len(self)} labels. "
                    f"Received: an array of shape {rows.shape}"
                )
            return rows.astype(np.float32)
        result = np.zeros((len(rows), len(self)), np.float32)
        for row, labels in enumerate(rows):
            if isinstance(labels, str | bytes) or not hasattr(labels, "__iter__"):
                raise TypeError(
                    "With `multi_label=True` there must be a list of labels for each text. "
                    f"Received: {short_repr(labels)} in row {row}"
                )
            try:
                result[row, self.encode(labels)] = 1
            except ValueError:
                unknown = [label for label in labels if label not in self._index_of]
                raise ValueError(
                    f"Each label must be one of {self._shown()}. "
                    f"Received: {short_repr(unknown[0])} in row {row}"
                ) from None
        return result

    def _shown(self):
        return join_names(self.as_strings())


def to_list(values):
    """A column of labels as a list: a list, an array, a tensor, or a pandas column."""
    if isinstance(values, tf.RaggedTensor) or tf.is_tensor(values):
        values = values.numpy() if not isinstance(values, tf.RaggedTensor) else values.to_list()
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise TypeError(
            "There must be a list of labels, with one for each text. "
            f"Received: {short_repr(values)}"
        )
    values = list(values)
    # The labels of a Keras model are often a column, (N, 1).
    if values and all(isinstance(v, np.ndarray) and v.shape == (1,) for v in values):
        values = [v[0] for v in values]
    return values


def _plain(label, row):
    """A label as a plain Python value."""
    if isinstance(label, np.generic):
        label = label.item()
    if isinstance(label, bytes):
        label = label.decode("utf-8")
    if isinstance(label, float) and label.is_integer():
        label = int(label)  # a column of integers that had missing values is one of floats
    if not isinstance(label, str | int):
        raise TypeError(
            f"Labels must be strings, ints or bools. Received: {short_repr(label)} "
            f"({type(label).__name__}) in row {row}"
        )
    return label
