"""Labels: a column of them in any form as lists, and `LabelIndex`, labels to numbers and back."""

import contextlib

import numpy as np
import tensorflow as tf

from keras_elmo.checks import join_names, short_repr


def as_lists(labels, lengths=None):
    """A column of labels in any form as a list of strings, ints and bools, or of lists of them.

    Rows of a table, (N, columns), lose their padding: `""` or negative numbers, or, with the
    `lengths` of the rows in tokens, whatever number is beyond them.
    """
    if isinstance(labels, tf.RaggedTensor):
        labels = labels.to_list()
    elif hasattr(labels, "__array__"):
        table = np.asarray(labels)
        labels = table.tolist()
        if table.ndim == 2 and table.dtype.kind in "biuf":
            if lengths is not None:
                for index, length in enumerate(lengths[: len(labels)]):
                    labels[index] = labels[index][:length]
            elif table.shape[1] > 1:  # and not a column of numbers, which may be negative
                labels = [[x for x in row if not x < 0] for row in labels]
        elif table.ndim == 2:
            labels = [[x for x in row if x not in ("", b"")] for row in labels]
    if isinstance(labels, str | bytes | dict) or not hasattr(labels, "__iter__"):
        raise TypeError(f"There must be a list of labels. Received: {short_repr(labels)}")
    return [_plain(value, row) for row, value in enumerate(labels)]


def _plain(value, row):
    if hasattr(value, "__array__"):
        value = np.asarray(value).tolist()
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            value = value.decode("utf-8")
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # a column of integers that had missing values is one of floats
    if isinstance(value, str | int):
        return value
    if isinstance(value, bytes) or not hasattr(value, "__iter__"):
        received = f"{short_repr(value)} ({type(value).__name__}) in row {row}"
        raise TypeError(f"Labels must be strings, ints or bools. Received: {received}")
    return [_plain(label, row) for label in value]


class LabelIndex:
    """The labels of a column of data, each once, in the order in which they first occur; those of a
    set are sorted. The place of a label among the `names` is its number.
    """

    def __init__(self, labels):
        rows = [row if isinstance(row, list) else [row] for row in as_lists(labels)]
        self.names = list(dict.fromkeys(label for row in rows for label in row))
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
        return [str(label) for label in self.names]

    def shown(self, count):
        return ", ".join(self.as_strings()[:count]) + (", ..." if len(self) > count else "")

    def encode(self, labels, place=""):
        """A list of labels to numbers, int32 (N,). Errors name the row, then the `place` of all."""
        for row, label in enumerate(labels):
            if isinstance(label, list) or label not in self._index_of:
                rule = f"Each label must be one of {join_names(self.as_strings())}."
                raise ValueError(f"{rule} Received: {short_repr(label)} in row {row}{place}")
        return np.array([self._index_of[label] for label in labels], np.int32)

    def encode_sets(self, labels):
        """Lists or sets of labels, or an array of ones and zeros, to float32 (N, labels)."""
        table = np.asarray(labels) if hasattr(labels, "__array__") else None
        if table is not None and table.ndim == 2 and table.dtype.kind in "biuf":
            if table.shape[1] != len(self) or not np.isin(table, (0, 1)).all():
                raise ValueError(
                    f"An array of labels must hold 1 or 0 for each of the {len(self)} labels. "
                    f"Received: an array of shape {table.shape}"
                )
            return table.astype(np.float32)
        rows = as_lists(labels)
        result = np.zeros((len(rows), len(self)), np.float32)
        for index, row in enumerate(rows):
            if not isinstance(row, list):
                raise TypeError(
                    "With `multi_label=True` there must be a list of labels for each text. "
                    f"Received: {short_repr(row)} in row {index}"
                )
            result[index, self.encode(row, f" of the labels of text {index}")] = 1
            # To name both of the labels 0 and 1 is what nobody means.
            is_doubtful = len(row) == len(self) == 2 and set(row) == {0, 1}
            if len(set(row)) < len(row) or is_doubtful:
                raise ValueError(
                    "A list of labels must name each label once; ones and zeros must be an array, "
                    f"`np.array(labels)`. Received: {short_repr(row)} in row {index}"
                )
        return result
