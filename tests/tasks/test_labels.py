import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from keras_elmo.tasks.labels import LabelIndex, to_list


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["b", "a", "b"], ["b", "a"]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset({10, 9, 2}), [2, 9, 10]),
        ([b"b", np.str_("a")], ["b", "a"]),
        ([1, np.int64(0), 1.0], [1, 0]),
        ([True, False], [True, False]),
        (np.array(["b", "a"])[:, None], ["b", "a"]),
        (pd.Series(["b", "a", "b"]).astype("category"), ["b", "a"]),
        (tf.constant(["b", "a"]), ["b", "a"]),
        ([["O", "B-X"], [], ["O"]], ["O", "B-X"]),
        (np.array([["O", "B-X"], ["O", ""]]), ["O", "B-X"]),
        (tf.ragged.constant([["O", "B-X"], ["I-X"]]), ["O", "B-X", "I-X"]),
        (pd.Series([["O"], ["B-X", "O"]]), ["O", "B-X"]),
        (np.array([[0, 2, -1], [1, -1, -1]]), [0, 2, 1]),
        ([{"b"}, {"a"}], ["b", "a"]),
    ],
)
def test_labels_are_those_of_a_column_each_once(values, names):
    assert LabelIndex(values).names == names


def test_encode_takes_what_equals_a_label():
    index = LabelIndex(["x", 3, True])
    assert index.encode([b"x", 3.0, np.int32(3), True, "x"]).tolist() == [0, 1, 1, 2, 0]
    assert index.encode([]).dtype == np.int32


def test_sets_become_ones_and_zeros():
    index = LabelIndex(["a", "b", "c"])
    expected = [[1, 0, 1], [0, 0, 0]]
    assert index.encode_sets([["c", "a"], []]).tolist() == expected
    assert index.encode_sets(pd.Series([("c", "a"), set()])).tolist() == expected
    assert index.encode_sets(np.array([["c", "a"], ["", ""]])).tolist() == expected
    for table in (np.array(expected), np.array(expected) > 0, tf.constant(expected)):
        assert index.encode_sets(table).tolist() == expected
    assert index.encode_sets(pd.DataFrame(expected, columns=["a", "b", "c"])).tolist() == expected
    assert LabelIndex([0, 1, 2]).encode_sets([[2], [0, 1]]).tolist() == [[0, 0, 1], [1, 1, 0]]


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
    assert list(to_list(tf.constant(COLUMN))) == [b"a", b"b"]
    assert to_list(tf.ragged.constant([[1, 2], [3]])) == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LabelIndex("ab"), TypeError, "`labels` must be a list of labels"),
        (lambda: LabelIndex(3), TypeError, "`labels` must be a list of labels"),
        (lambda: LabelIndex(None), TypeError, "`labels` must be a list of labels"),
        (lambda: LabelIndex(["a"]), ValueError, "at least two labels.*Received: \\['a'\\]"),
        (lambda: LabelIndex(["a", "a"]), ValueError, "at least two labels"),
        (lambda: LabelIndex([1, "1"]), ValueError, "differ also as strings.*1, '1'"),
        (lambda: LabelIndex(["a", None]), TypeError, "Received: None .NoneType. in row 1"),
        (lambda: LabelIndex(["a", float("nan")]), TypeError, "nan .float. in row 1"),
        (lambda: LabelIndex([]), ValueError, "at least two labels"),
        (
            lambda: LabelIndex([0, 1, 2]).encode_sets([[2], [1, 0, 0]]),
            *(ValueError, "name each label once; ones and zeros must be an array.*0.*in row 1"),
        ),
        (
            lambda: LabelIndex([0, 1]).encode_sets([[1, 0]]),
            *(ValueError, "ones and zeros must be an array"),
        ),
        (
            lambda: LabelIndex(["a", "b"]).encode(["a", "B"]),
            *(ValueError, "must be one of a, b. Received: 'B' in row 1"),
        ),
        (
            lambda: LabelIndex(["a", "b"]).encode_sets([["a"], ["b", "z"]]),
            *(ValueError, "Received: 'z' in row 1 of the labels of text 1"),
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
