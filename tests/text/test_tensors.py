import re

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo import strings
from keras_elmo.text import WhitespaceTokenizer, to_tokens

TOKENIZER = WhitespaceTokenizer()  # one for all, since each traces a graph
CURE = '; drop the rows without a text, or put "" in its place (pandas: `.fillna("")`)'


# strings()


def test_every_form_of_pandas_is_taken_and_a_missing_text_is_refused_with_its_row():
    def forms(texts):
        """Its own dtype `str` (since 3.0), and others."""
        index = range(len(texts))[::-1]
        series = [pd.Series(texts, index, dtype) for dtype in (None, object, "string")]
        return [*series, *(one.values for one in series), series[0].to_numpy()]

    for texts in forms(["a b", "é", ""]):
        assert strings(texts).numpy().tolist() == [b"a b", "é".encode(), b""]
    for texts in forms(["a b", "é", "c", None]):
        with pytest.raises(TypeError, match=re.escape(f"in row 3{CURE}")):
            strings(texts)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_arrays_keep_their_shape(shape):
    assert strings(np.empty(shape, "U1")).shape == shape


def test_tensors_are_returned_as_they_are():
    ragged = tf.ragged.constant([["a"], ["b", "c"]])
    for tensor in (tf.constant(["a"]), tf.constant([["a"], ["b"]]), ragged):
        assert strings(tensor) is tensor


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text(st.characters(exclude_categories=()), max_size=8), max_size=5),
    st.lists(st.binary(max_size=8), max_size=5),
)
def test_any_str_is_taken_surrogates_and_nul_included_and_bytes_unchanged(texts, data):
    # Two equal lists of one string have one encoding, alone or among others.
    assert strings(texts).numpy().tolist() == [strings(text).numpy()[0] for text in texts]
    assert strings(data).numpy().tolist() == data


@pytest.mark.parametrize(
    "texts, received",
    [
        (None, "NoneType"),
        ({"a": 1}, "dict"),
        (["a", float("nan")], f"nan (float) in row 1{CURE}"),
        ([["a", 3]], "3 (int) in token 1 of row 0"),
        (np.array([1, 2]), "an array or a tensor of dtype int64"),
        (np.array([["a", "b"], ["c", None]], object), f"None (NoneType) in token 1 of row 1{CURE}"),
        (tf.constant([1]), "an array or a tensor of dtype int32"),
        (tf.sparse.from_dense(["a", ""]), "a SparseTensor; pass tf.sparse.to_dense(it, '')"),
        # These are a `ValueError`.
        (["a", ["b"]], "'a' in row 0"),
        (np.array([[["a"]]]), "an array or a tensor of shape (1, 1, 1)"),
        (tf.constant([[["a"]]]), "an array or a tensor of shape (1, 1, 1)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_than_strings_are_refused(texts, received):
    is_text = "'a'" in received or "a tensor of shape" in received
    with pytest.raises(ValueError if is_text else TypeError, match=f"{re.escape(received)}$"):
        strings(texts)


# to_tokens()


@pytest.mark.parametrize("tokenizer", [None, TOKENIZER])
def test_ragged_tokens_are_never_split_again(tokenizer):
    ragged = tf.ragged.constant([["a b", ""], []])
    assert to_tokens(ragged, tokenizer) is ragged
    for texts in ([[]], [[], []], []):
        tokens = to_tokens(strings(texts), tokenizer)
        assert tokens.to_list() == texts and tokens.dtype == tf.string


def test_trailing_empty_strings_are_padding_and_inner_ones_are_tokens():
    padded = tf.constant([["a", "", "b", ""], ["", "c", "", ""], ["", "", "", ""], list("abcd")])
    expected = [[b"a", b"", b"b"], [b"", b"c"], [], [b"a", b"b", b"c", b"d"]]
    assert to_tokens(padded, None).to_list() == expected
    for shape in [(2, 0), (0, 2)]:
        assert to_tokens(tf.zeros(shape, tf.string), None).to_list() == [[]] * shape[0]


@pytest.mark.parametrize(
    "tokenizer, texts", [(None, ["a b", "c"]), (None, [[["a"]]]), (TOKENIZER, [["a", "b"]])]
)
def test_texts_of_another_shape_are_refused(tokenizer, texts):
    texts = tf.constant(texts)
    received = re.escape(f"of shape {texts.shape}")
    with pytest.raises(ValueError, match=f"`tokenizer=None`.*{received}"):
        to_tokens(texts, tokenizer)
