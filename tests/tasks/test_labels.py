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
        ([1, np.int64(0), 1.0], [1, 0]),
        ([True, False], [True, False]),
        (np.array(["b", "a"])[:, None], ["b", "a"]),
        ([["O", "B-X"], [], ["O"]], ["O", "B-X"]),
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
    table = [[1, 0, 1], [0, 0, 0]]
    lists = [["c", "a"], []], pd.Series([("c", "a"), set()]), np.array([["c", "a"], ["", ""]])
    arrays = np.array(table), np.array(table) > 0, tf.constant(table), pd.DataFrame(table)
    for form in (*lists, *arrays):
        assert index.encode_sets(form).tolist() == table
    assert LabelIndex([0, 1, 2]).encode_sets([[2], [0, 1]]).tolist() == [[0, 0, 1], [1, 1, 0]]


COLUMN = ["a", "b"]
LISTS = [["a", "b"], [], ["a"]]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (COLUMN, COLUMN),
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


AB = LabelIndex(["a", "b"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LabelIndex("ab"), TypeError, "must be a list of labels"),
        (lambda: LabelIndex(["a"]), ValueError, "at least two labels.*Received: \\['a'\\]"),
        (lambda: LabelIndex([1, "1"]), ValueError, "differ also as strings.*1, '1'"),
        (lambda: LabelIndex(["a", None]), TypeError, "Received: None .NoneType. in row 1"),
        (lambda: LabelIndex([b"a", b"\xff"]), TypeError, "xff' .bytes. in row 1"),
        (lambda: as_lists({"a": 1}), TypeError, "must be a list of labels.*Received: {'a': 1}"),
        (lambda: AB.encode(["a", "B"]), ValueError, "one of a, b. Received: 'B' in row 1"),
        (lambda: AB.encode_sets([["a"], ["z"]]), ValueError, "'z' in row 0 .* of text 1"),
        (lambda: AB.encode_sets(["ab"]), TypeError, "a list of labels for each"),
        (lambda: AB.encode_sets(np.array([[1, 2]])), ValueError, "1 or 0 for each of the 2 labels"),
        (lambda: AB.encode_sets([["a"], ["b", "b"]]), ValueError, "label once.*in row 1"),
        (lambda: LabelIndex([0, 1]).encode_sets([[1, 0]]), ValueError, "must be an array"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
