import re
import warnings

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo import BiLanguageModel, Elmo, ElmoEmbedding, strings
from keras_elmo.analysis.occurrences import find_occurrences
from keras_elmo.models.sentences import as_sentences, read_tokens
from keras_elmo.text import (
    CharacterTokenizer,
    SpaceTokenizer,
    WhitespaceTokenizer,
    check_tokens,
    to_tokens,
)
from keras_elmo.text.inputs import call_strings, fit_strings, strings_for

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
        (["a", ["b"]], "['b'] (list) in row 1"),
        ([["a", 3]], "3 (int) in token 1 of row 0"),
        (np.array([1, 2]), "an array of dtype int64 and shape (2,)"),
        (np.array([["a", "b"], ["c", None]], object), f"None (NoneType) in row 1{CURE}"),
        (tf.constant([1]), "a tensor of dtype int32"),
        (tf.sparse.from_dense(["a", ""]), "a SparseTensor; pass tf.sparse.to_dense(it, '')"),
        # More than two axes are a `ValueError`.
        (np.array([[["a"]]]), "an array of dtype <U1 and shape (1, 1, 1)"),
        (tf.constant([[["a"]]]), "a tensor of shape (1, 1, 1)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_other_than_strings_are_refused(texts, received):
    is_text = "<U1" in received or "a tensor of shape" in received
    with pytest.raises(ValueError if is_text else TypeError, match=f"{re.escape(received)}$"):
        strings(texts)


# check_tokens()


@pytest.mark.parametrize("tokenizer", [None, TOKENIZER, SpaceTokenizer()])
def test_whitespace_that_the_tokenizer_does_not_split_is_no_fault(tokenizer, recwarn):
    is_fault = tokenizer is TOKENIZER
    plain = [b"a", b"", b" a ", "é".encode(), b"\xff", b"don't"]
    assert not check_tokens(plain, tokenizer)
    for token in (b"a\tb", "a\u00a0b".encode(), "a\u3000b".encode(), b"a\x1cb"):
        assert check_tokens([token, *plain], tokenizer) == is_fault
    assert len(recwarn) == 4 * is_fault


def test_more_than_half_of_the_tokens_with_whitespace_are_an_error():
    tokens = [b"a b", b"c d", b"e"]
    with pytest.raises(ValueError, match="tokenizer=None"):
        check_tokens(tokens, TOKENIZER)
    with pytest.warns(UserWarning, match="2 of 3 tokens"):
        assert check_tokens(tokens, TOKENIZER, may_refuse=False)
    with pytest.warns(UserWarning, match="2 of 4 tokens"):
        assert check_tokens([*tokens, b"f"], TOKENIZER)


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
    received = re.escape(f"Received: a tensor of shape {texts.shape}")
    with pytest.raises(ValueError, match=f"`tokenizer=None`.*{received}"):
        to_tokens(texts, tokenizer)


# The inputs of models


# One rule for every entrance: what a form of text means is said in `strings`. Each entrance of a
# model reads text by one of these three.


def read_call(texts, tokenizer):
    return to_tokens(call_strings(texts, tokenizer), tokenizer).to_list()


def read_fit(texts, tokenizer):
    return to_tokens(fit_strings(texts, tokenizer), tokenizer).to_list()


def read_list(texts, tokenizer):
    return list(read_tokens(tokenizer, as_sentences(tokenizer, texts)))


READERS = read_call, read_fit, read_list


def lengths(sentences):
    return [len(tokens) for tokens in sentences]


RAW = np.array(["a b", "é"])
TOKENS = [["a", "b"], ["é"]]
PADDED = np.array([["a", "b"], ["é", ""]])
SPACED = [["a b"], ["c d"]]
SPLIT, WHOLE, ONE = [[b"a", b"b"], ["é".encode()]], [[b"a b"], ["é".encode()]], [[b"a", b"b"]]
SENTENCES = {  # their tokens with and without a tokenizer, `None`: an error
    "list": (RAW.tolist(), SPLIT, None),
    "list of both": (["a b", "é".encode(), np.str_("")], [*SPLIT, []], None),
    "array": (RAW, SPLIT, None),
    "object array": (np.array(["a b", "é".encode()], object), SPLIT, None),
    "tensor": (tf.constant(RAW), SPLIT, None),
    "column": (RAW[:, None], SPLIT, WHOLE),
    "column in a tensor": (tf.constant(RAW[:, None]), SPLIT, WHOLE),
    "array without axes": (np.array(b"a b"), ONE, None),
    "tensor without axes": (tf.constant("a b"), ONE, None),
    "lists of tokens": (TOKENS, SPLIT, SPLIT),
    "tuple of tuples": ((("a", "b"), (b"\xc3\xa9",)), SPLIT, SPLIT),
    "list of arrays": ([np.array(row) for row in TOKENS], SPLIT, SPLIT),
    "object array of lists": (np.array(TOKENS, object), SPLIT, SPLIT),
    "empty lists": ([[], ["a", "b"], []], [[], *ONE, []], [[], *ONE, []]),
    "ragged": (tf.ragged.constant(TOKENS), SPLIT, SPLIT),
    "padded array": (PADDED, None, SPLIT),
    "padded strided array": (PADDED[::-1], None, SPLIT[::-1]),
    "padded tensor": (tf.constant(PADDED), None, SPLIT),
    "lists of one text": (SPACED, None, [[b"a b"], [b"c d"]]),
    "ragged of one text": (strings(SPACED), [[b"a b"], [b"c d"]], [[b"a b"], [b"c d"]]),
    "empty list": ([], [], []),
    "pandas": (pd.Series(RAW, index=[7, 3]), SPLIT, None),
    "pandas, a column": (pd.DataFrame({"text": RAW}), SPLIT, WHOLE),
    "pandas, tokens": (pd.Series(TOKENS, index=[7, 3]), SPLIT, SPLIT),
}
if hasattr(getattr(np, "dtypes", None), "StringDType"):
    SENTENCES["NumPy 2"] = np.array(["a b", "é"], np.dtypes.StringDType()), SPLIT, None


def outcome(entrance, *args):
    """What an entrance reads, or `None` if it raises its error."""
    try:
        return entrance(*args)
    except (ValueError, TypeError) as error:
        assert "Received: " in str(error)
        return None


@pytest.mark.parametrize("form", SENTENCES)
def test_a_form_of_text_means_the_same_to_every_reader(form):
    texts, *expected = SENTENCES[form]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for tokenizer, tokens in zip((TOKENIZER, None), expected, strict=True):
            for reader in READERS:
                assert outcome(reader, texts, tokenizer) == tokens, reader


def test_one_string_is_a_batch_of_one_in_calls_and_refused_by_methods_of_lists():
    assert read_call("a b", TOKENIZER) == read_fit(b"a b", TOKENIZER) == ONE
    with pytest.raises(TypeError, match=r"for one, pass \[sentence\]"):
        read_list("a b", TOKENIZER)


@pytest.mark.parametrize("reader", READERS)
def test_tokens_with_whitespace_have_a_warning(reader):
    texts = [["I", "New\u00a0York", "."], ["c"]]
    with pytest.warns(UserWarning, match="'New.*York' as a token, and 1 of 4 tokens"):
        assert lengths(reader(texts, TOKENIZER)) == [3, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert lengths(reader(strings(texts), TOKENIZER)) == [3, 1]
        assert lengths(reader(texts, None)) == [3, 1]


def entrances(elmo):
    """Functions of text to the number of tokens of each sentence, by name."""
    vocabulary = ["<S>", "</S>", "<UNK>", "a", "b"]
    language_model = BiLanguageModel(elmo.config, vocabulary, elmo.tokenizer)
    embedding = ElmoEmbedding(elmo)
    elmo.run_eagerly = True  # Keras's graph would take seconds to trace.

    def occurrences(texts):
        found = find_occurrences(elmo, texts)
        return [found.sentence_index.count(k) for k in range(len(found.sentences))]

    def sequence_len(call):
        return lambda texts: np.asarray(call(texts)["sequence_len"]).tolist()

    return {
        "call": sequence_len(elmo),
        "predict": sequence_len(lambda texts: elmo.predict(texts, verbose=0)),
        "ElmoEmbedding": lambda texts: np.sum(embedding(texts)._keras_mask, axis=1).tolist(),
        "tokenize": lambda texts: lengths(elmo.tokenize(texts)),
        "embed": lambda texts: lengths(elmo.embed(texts)),
        "embed_stream": lambda texts: lengths(elmo.embed_stream(texts, layers=0)),
        "language model": sequence_len(language_model),
        "score": lambda texts: [len(x.forward) - 1 for x in language_model.score(texts)],
        "find_occurrences": occurrences,
    }


def test_every_entrance_of_a_model_reads_text_alike(one_layer_folder, untraced):
    for index, tokenizer in enumerate(("whitespace", None)):
        elmo = Elmo.from_pretrained(one_layer_folder, tokenizer=tokenizer)
        for name, entrance in entrances(elmo).items():
            for form in ("list", "lists of tokens", "padded array"):
                texts, *expected = SENTENCES[form]
                counts = expected[index] and lengths(expected[index])
                assert outcome(entrance, texts) == counts, (name, form)


def test_streams_are_read_as_lists():
    def read(sentences):
        return lengths(read_list(sentences, TOKENIZER))

    data = tf.data.Dataset.from_tensor_slices(RAW)
    sentences = data.as_numpy_iterator()
    assert read(iter(TOKENS)) == read(sentences) == read(list(data)) == [2, 1]
    with pytest.raises(TypeError, match=r"a tf.data.Dataset is read in batches.*Received"):
        read(data)
    with pytest.raises(ValueError, match="'a b' as a token"):  # a batch is no sentence
        read(iter([np.array(["a b", "c d"])]))
    late = [["a"]] * 300 + [["New York"]] * 300  # what was embedded is not thrown away
    with pytest.warns(UserWarning, match="'New York' as a token") as caught:
        assert len(read(late)) == 600
    assert len(caught) == 1


def test_a_text_without_spaces_is_warned_of_once():
    protein = "MKTAYIAKQR" * 5
    elmo_like = [protein, "a b", protein]
    with pytest.warns(UserWarning, match='tokenizer="characters".*MKTAY') as found:
        strings_for(elmo_like, TOKENIZER)
        assert len(found) == 1
        list(read_tokens(TOKENIZER, elmo_like * 300))
    assert len(found) == 2
    for form in (tf.constant, lambda texts: np.array(texts)[:, None]):
        with pytest.warns(UserWarning, match='tokenizer="characters".*MKTAY'):
            strings_for(form(elmo_like), TOKENIZER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for tokenizer in (None, CharacterTokenizer()):
            strings_for([protein], tokenizer)
        strings_for([[protein], ["a"]], TOKENIZER)  # tokens
        strings_for(["a" * 48, f"{protein} {protein}", "\u3000".join(["word"] * 20)], TOKENIZER)


def test_an_object_with_a_text_has_a_cure():
    class Token:
        text = "cat"

    for reader in READERS:
        with pytest.raises(TypeError, match=r"token.text for token in doc"):
            reader([[Token()]], TOKENIZER)
