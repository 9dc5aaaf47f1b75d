import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo.text import SpaceTokenizer, WhitespaceTokenizer, check_tokens, strings, to_tokens

TOKENIZER = WhitespaceTokenizer()  # one for all, since each traces a graph
RULE = "Text must be a string, a list"
CURE = '; drop the rows without a text, or put "" in its place (pandas: `.fillna("")`)'


# strings()


@pytest.mark.parametrize(
    "text",
    [
        "a cat",
        b"a cat",
        np.str_("a cat"),
        np.array("a cat"),
        np.array(b"a cat"),
        tf.constant("a cat"),
    ],
)
def test_one_string_is_a_batch_of_one(text):
    tensor = strings(text)
    assert tensor.dtype == tf.string and tensor.shape == (1,)
    assert tensor.numpy().tolist() == [b"a cat"]


FORMS = {
    "list of str": ["a b", "é", ""],
    "list of bytes": [b"a b", "é".encode(), b""],
    "list of both": ["a b", "é".encode(), np.str_("")],
    "tuple": ("a b", "é", ""),
    "NumPy <U": np.array(["a b", "é", ""]),
    "NumPy S": np.array([b"a b", "é".encode(), b""]),
    "NumPy object": np.array(["a b", "é".encode(), ""], object),
    "strided NumPy": np.array(["a b", "-", "é", "-", "", "-"])[::2],
    "tensor": tf.constant(["a b", "é", ""]),
}


@pytest.mark.parametrize("texts", FORMS.values(), ids=FORMS)
def test_a_batch_has_one_axis(texts):
    tensor = strings(texts)
    assert tensor.dtype == tf.string and tensor.shape == (3,)
    assert tensor.numpy().tolist() == [b"a b", "é".encode(), b""]


def test_numpy_string_dtype_is_taken():
    if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
        pytest.skip("this NumPy has no StringDType")
    texts = np.array(["a b", "é"], np.dtypes.StringDType())
    assert strings(texts).numpy().tolist() == [b"a b", "é".encode()]


def pandas_forms(texts):
    """Texts in every form that pandas gives them: its own dtype `str` (since 3.0) and others."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    index = [7 - k for k in range(len(texts))]
    forms = [pandas.Series(texts, index=index, dtype=dtype) for dtype in (None, object, "string")]
    forms += [series.values for series in forms]
    frame = pandas.DataFrame({"label": range(len(texts)), "text": texts})
    return [*forms, frame["text"], frame.text.to_numpy(), frame[frame.label >= 0]["text"]]


def test_every_form_of_pandas_is_taken():
    for texts in pandas_forms(["a b", "é", ""]):
        assert strings(texts).numpy().tolist() == [b"a b", "é".encode(), b""]


def test_a_missing_text_of_pandas_is_refused_with_its_row():
    for texts in pandas_forms(["a b", "é", "c", None]):
        with pytest.raises(TypeError, match=re.escape(f"in row 3{CURE}")):
            strings(texts)


def test_padded_arrays_keep_their_shape():
    words = [["a", "b"], ["é", ""]]
    for array in (np.array(words), np.array(words, object), np.array(words)[::-1][::-1]):
        tensor = strings(array)
        assert not isinstance(tensor, tf.RaggedTensor)
        assert tensor.numpy().tolist() == [[b"a", b"b"], ["é".encode(), b""]]


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (0, 0), (2, 1)])
def test_empty_arrays_keep_their_shape(shape):
    assert strings(np.empty(shape, "U1")).shape == shape


@pytest.mark.parametrize(
    "lists",
    [
        [["a", b"b"], [], ["é"]],
        (("a", "b"), (), ("é",)),
        [np.array(["a", "b"]), [], ("é",)],
        np.array([["a", "b"], [], ["é"]], object),
    ],
    ids=["lists", "tuples", "mixed", "object array"],
)
def test_lists_of_tokens_are_ragged(lists):
    ragged = strings(lists)
    assert isinstance(ragged, tf.RaggedTensor) and ragged.dtype == tf.string
    assert ragged.to_list() == [[b"a", b"b"], [], ["é".encode()]]


def test_lists_of_tokens_of_one_length_are_ragged_too():
    assert strings([["a", "b"], ["c", "d"]]).to_list() == [[b"a", b"b"], [b"c", b"d"]]


def test_empty_batches():
    assert strings([]).shape == (0,) and strings([]).dtype == tf.string
    assert strings(()).shape == (0,)
    assert strings([[]]).to_list() == [[]]
    assert strings([[], []]).to_list() == [[], []]


def test_tensors_are_returned_as_they_are():
    for tensor in (
        tf.constant(["a"]),
        tf.constant([["a"], ["b"]]),
        tf.ragged.constant([["a"], ["b", "c"]]),
    ):
        assert strings(tensor) is tensor


def test_tensors_of_a_graph_are_returned_as_they_are():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def graph(texts):
        assert strings(texts) is texts
        return texts

    assert graph(tf.constant(["a"])).numpy().tolist() == [b"a"]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(st.characters(exclude_categories=()), max_size=8), max_size=5))
def test_any_str_is_taken_surrogates_and_nul_included(texts):
    # Two equal lists of one string have one encoding, alone or among others.
    assert strings(texts).numpy().tolist() == [strings(text).numpy()[0] for text in texts]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.binary(max_size=8), max_size=5))
def test_bytes_come_through_unchanged(texts):
    assert strings(texts).numpy().tolist() == texts


@pytest.mark.parametrize(
    "texts, received",
    [
        (None, "NoneType"),
        (7, "int"),
        (2.5, "float"),
        ({"a": 1}, "dict"),
        ({"a"}, "set"),
        ((text for text in ["a"]), "generator"),
        (bytearray(b"a"), "bytearray"),
        ([1, 2], "1 (int) in row 0"),
        (["a", None], f"None (NoneType) in row 1{CURE}"),
        (["a", float("nan")], f"nan (float) in row 1{CURE}"),
        (["a", ["b"]], "['b'] (list) in row 1"),
        ([["a"], "b"], "['a'] (list) in row 0"),
        ([["a", 3]], "3 (int) in row 0"),
        ([["a"], [None]], f"None (NoneType) in row 1{CURE}"),
        ([[["a"]]], "['a'] (list) in row 0"),
        (np.array([1, 2]), "an array of dtype int64 and shape (2,)"),
        (np.array(3.0), "an array of dtype float64 and shape ()"),
        (np.array([["a", "b"], ["c", None]], object), f"None (NoneType) in row 1{CURE}"),
        (np.array(None, object), f"None (NoneType) in row 0{CURE}"),
        (np.zeros((1, 1, 1)), "an array of dtype float64 and shape (1, 1, 1)"),
        (tf.constant([1]), "a tensor of dtype int32"),
        (tf.ragged.constant([[1], []]), "a tensor of dtype int32"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_than_strings_are_refused(texts, received):
    with pytest.raises(TypeError, match=rf"{RULE}.*Received: {re.escape(received)}$"):
        strings(texts)


@pytest.mark.parametrize(
    "texts, received",
    [
        (np.array([[["a"]]]), "an array of dtype <U1 and shape (1, 1, 1)"),
        (tf.constant([[["a"]]]), "a tensor of shape (1, 1, 1)"),
        (tf.ragged.constant([[["a"], []], []]), "a tensor of shape (2, None, None)"),
    ],
    ids=["array", "tensor", "ragged"],
)
def test_more_than_two_axes_are_refused(texts, received):
    with pytest.raises(ValueError, match=rf"{RULE}.*Received: {re.escape(received)}$"):
        strings(texts)


# check_tokens()


@pytest.mark.parametrize("tokenizer", [None, TOKENIZER, SpaceTokenizer()])
def test_whitespace_that_the_tokenizer_does_not_split_is_no_fault(tokenizer, recwarn):
    is_fault = tokenizer is TOKENIZER
    plain = [b"a", b"", b" a ", "\u00e9".encode(), b"\xff", b"don't"]
    assert not check_tokens(plain, tokenizer)
    for token in (b"a\tb", "a\u00a0b".encode(), "a\u3000b".encode(), b"a\x1cb"):
        assert check_tokens([token, *plain], tokenizer) == is_fault
    assert len(recwarn) == 4 * is_fault


def test_more_than_half_of_the_tokens_with_whitespace_are_an_error():
    tokens = [b"a b", b"c d", b"e"]
    with pytest.raises(ValueError, match="pass raw strings.*keras_elmo.strings.*tokenizer=None"):
        check_tokens(tokens, TOKENIZER)
    with pytest.warns(UserWarning, match="2 of 3 tokens"):
        assert check_tokens(tokens, TOKENIZER, may_refuse=False)
    with pytest.warns(UserWarning, match="2 of 4 tokens"):
        assert check_tokens([*tokens, b"f"], TOKENIZER)


# to_tokens()


@pytest.mark.parametrize(
    "shape, texts",
    [((), "a b"), ((1,), ["a b"]), ((1, 1), [["a b"]])],
)
def test_raw_strings_of_each_shape_are_split(shape, texts):
    texts = tf.constant(texts)
    assert texts.shape == shape
    assert to_tokens(texts, TOKENIZER).to_list() == [[b"a", b"b"]]


def test_column_of_raw_strings_is_a_batch():
    texts = tf.constant([["a b"], [""], ["c"]])
    assert to_tokens(texts, TOKENIZER).to_list() == [[b"a", b"b"], [], [b"c"]]


@pytest.mark.parametrize("tokenizer", [None, TOKENIZER])
def test_ragged_tokens_are_never_split_again(tokenizer):
    ragged = tf.ragged.constant([["a b", ""], []])
    assert to_tokens(ragged, tokenizer) is ragged


def test_trailing_empty_strings_are_padding_and_inner_ones_are_tokens():
    padded = tf.constant([["a", "", "b", ""], ["", "c", "", ""], ["", "", "", ""], list("abcd")])
    assert to_tokens(padded, None).to_list() == [
        [b"a", b"", b"b"],
        [b"", b"c"],
        [],
        [b"a", b"b", b"c", b"d"],
    ]


@pytest.mark.parametrize("texts, rows", [([[]], 1), ([[], []], 2), ([], 0)])
@pytest.mark.parametrize("tokenizer", [None, TOKENIZER])
def test_empty_batches_have_no_tokens(texts, rows, tokenizer):
    tokens = to_tokens(strings(texts), tokenizer)
    assert tokens.to_list() == [[]] * rows
    assert tokens.dtype == tf.string


@pytest.mark.parametrize("shape", [(0, 0), (2, 0), (0, 2)])
def test_empty_padded_batches_have_no_tokens(shape):
    assert to_tokens(tf.zeros(shape, tf.string), None).to_list() == [[]] * shape[0]


def test_padded_tokens_in_a_graph_of_any_shape():
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.string)])
    def graph(texts):
        return to_tokens(texts, None)

    assert graph(tf.constant([["a", ""]])).to_list() == [[b"a"]]
    assert graph(tf.zeros((0, 3), tf.string)).to_list() == []


@pytest.mark.parametrize("texts", ["a b", ["a b", "c"], [[["a"]]]], ids=["()", "(2,)", "3-D"])
def test_raw_strings_without_a_tokenizer_are_refused(texts):
    texts = tf.constant(texts)
    received = re.escape(f"Received: a tensor of shape {texts.shape}")
    with pytest.raises(ValueError, match=f"With `tokenizer=None` .* must be tokens.*{received}"):
        to_tokens(texts, None)


@pytest.mark.parametrize("texts", [[["a", "b"]], [[["a"]]]], ids=["(1, 2)", "(1, 1, 1)"])
def test_tokens_with_a_tokenizer_are_refused(texts):
    texts = tf.constant(texts)
    received = re.escape(f"Received: a tensor of shape {texts.shape}")
    with pytest.raises(ValueError, match=f"must have shape .*`tokenizer=None`.*{received}"):
        to_tokens(texts, TOKENIZER)


@pytest.mark.parametrize("tokenizer", [None, TOKENIZER])
def test_strings_of_unknown_rank_are_refused(tokenizer):
    @tf.function(input_signature=[tf.TensorSpec(None, tf.string)])
    def graph(texts):
        return to_tokens(texts, tokenizer).to_tensor()

    with pytest.raises(ValueError, match="Received: a tensor of shape <unknown>"):
        graph(tf.constant("a"))


def test_an_empty_array_has_no_strings_whatever_its_dtype():
    assert strings(np.array([])).shape == (0,) and strings(np.array([])).dtype == tf.string


def test_sparse_tensors_are_refused():
    with pytest.raises(TypeError, match="Received: a SparseTensor; pass tf.sparse.to_dense"):
        strings(tf.sparse.from_dense(["a", ""]))
