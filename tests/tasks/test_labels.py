import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from keras_elmo.tasks.labels import LabelIndex, to_list


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", "b"], ["a", "b"]),
        ([b"b", np.str_("a")], ["a", "b"]),
        ([1, np.int64(0), 1.0], [0, 1]),
        ([True, False], [False, True]),
        ([10, 9, 2], [2, 9, 10]),
    ],
)
def test_labels_of_data_are_sorted(values, names):
    assert LabelIndex.of(values).names == names


def test_encode_takes_what_equals_a_label():
    index = LabelIndex(["x", 3, True])
    assert index.encode([b"x", 3.0, np.int32(3), True, "x"]).tolist() == [0, 1, 1, 2, 0]
    assert index.encode([]).dtype == np.int32


def test_sets_become_ones_and_zeros():
    index = LabelIndex(["a", "b", "c"])
    expected = [[1, 0, 1], [0, 0, 0]]
    assert index.encode_sets([["c", "a"], []]).tolist() == expected
    assert index.encode_sets(np.array(expected)).tolist() == expected


COLUMN = ["a", "b"]


@pytest.mark.parametrize(
    "values",
    [COLUMN, tuple(COLUMN), np.array(COLUMN), np.array(COLUMN)[:, None], pd.Series(COLUMN)],
    ids=["list", "tuple", "array", "column", "pandas"],
)
def test_columns(values):
    assert [str(v) for v in to_list(values)] == COLUMN
    assert LabelIndex(COLUMN).encode(to_list(values)).tolist() == [0, 1]


def test_tensors_are_columns():
    assert to_list(tf.constant(COLUMN)) == [b"a", b"b"]
    assert to_list(tf.ragged.constant([[1, 2], [3]])) == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LabelIndex("ab"), TypeError, "`labels` must be a list of labels"),
        (lambda: LabelIndex(3), TypeError, "`labels` must be a list of labels"),
        (lambda: LabelIndex(["a"]), ValueError, "two labels at least.*Received: \\['a'\\]"),
        (lambda: LabelIndex(["a", "a"]), ValueError, "each of them once"),
        (lambda: LabelIndex(["a", None]), TypeError, "Received: None .NoneType. in row 1"),
        (lambda: LabelIndex.of(["a", float("nan")]), TypeError, "nan .float. in row 1"),
        (lambda: LabelIndex.of([]), ValueError, "two labels at least"),
        (
            lambda: LabelIndex(["a", "b"]).encode(["a", "B"]),
            *(ValueError, "must be one of a, b. Received: 'B' in row 1"),
        ),
        (
            lambda: LabelIndex(["a", "b"]).encode_sets([["a"], ["b", "z"]]),
            *(ValueError, "Received: 'z' in row 1"),
        ),
        (
            lambda: LabelIndex(["a", "b"]).encode_sets(["ab"]),
            TypeError,
            "a list of labels for each",
        ),
        (
            lambda: LabelIndex(["a", "b"]).encode_sets(np.array([[1, 2]])),
            *(ValueError, "1 or 0 for each of the 2 labels"),
        ),
        (lambda: to_list("ab"), TypeError, "a list of labels, with one for each text"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
