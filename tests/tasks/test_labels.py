import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from keras_elmo.tasks.labels import LabelIndex, as_lists


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
    labels = as_lists([b"x", 3.0, np.int32(3), True, "x"])
    assert index.encode(labels).tolist() == [0, 1, 1, 2, 0]
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
LISTS = [["a", "b"], [], ["a"]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (COLUMN, COLUMN),
        (tuple(COLUMN), COLUMN),
        ((label for label in COLUMN), COLUMN),
        (np.array(COLUMN), COLUMN),
        (pd.Series(COLUMN, index=[5, 9]), COLUMN),
        (pd.Series(COLUMN).astype("category"), COLUMN),
        (tf.constant(COLUMN), COLUMN),
        ([np.str_("a"), b"b"], COLUMN),
        (np.array([1.0, 0.0]), [1, 0]),
        (np.array([[-1], [1]]), [[-1], [1]]),  # a column, which has no padding
        (np.array(COLUMN)[:, None], [["a"], ["b"]]),
        (tf.ragged.constant(LISTS), LISTS),
        (pd.Series(LISTS), LISTS),
        ([tuple(row) for row in LISTS], LISTS),
        ([np.array(row) for row in LISTS], LISTS),
        ([tf.constant(row, tf.string) for row in LISTS], LISTS),
        (np.array([["a", "b"], ["", ""], ["a", ""]]), LISTS),
        (tf.constant([["a", "b"], ["", ""], ["a", ""]]), LISTS),
        (pd.DataFrame({"x": ["", "b"], "y": ["a", "c"]}), [["a"], ["b", "c"]]),
        (np.array([[0, 2, -1], [1, -1, -1]]), [[0, 2], [1]]),
    ],
)
def test_a_column_in_any_form_is_lists_without_padding(labels, expected):
    found = as_lists(labels)
    assert found == expected
    assert str(found) == str(expected)  # plain values


def test_numbers_beyond_the_tokens_of_a_row_are_padding():
    table = np.array([[3, 0, 0], [1, 0, -1]])
    assert as_lists(table, [1, 2]) == [[3], [1, 0]]
    assert as_lists(table, [1]) == [[3], [1, 0, -1]]
    assert as_lists(table[:, :1], [1, 2, 0]) == [[3], [1]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LabelIndex("ab"), TypeError, "must be a list of labels"),
        (lambda: LabelIndex(3), TypeError, "must be a list of labels"),
        (lambda: LabelIndex(None), TypeError, "must be a list of labels"),
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
        (lambda: as_lists({"a": 1}), TypeError, "must be a list of labels.*Received: {'a': 1}"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
