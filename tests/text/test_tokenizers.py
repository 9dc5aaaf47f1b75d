"""`get_tokenizer`, and what is true of every tokenizer."""

import copy
import json
import pickle
import re
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text.tokenizer_cases import EDGES, OPS, in_graph, noise, split, texts, tokenizer_of

from keras_elmo import SpaceTokenizer, TreebankTokenizer, WhitespaceTokenizer, text
from keras_elmo.text.tokenizers import TOKENIZERS as NAMED

TOKENIZERS = list(NAMED.values())


def test_tokenizer_by_name_is_shared_and_an_object_is_itself():
    class OfBytes:
        def tokenize(self, strings):
            return tf.strings.bytes_split(strings)

    for name, kind in NAMED.items():
        assert type(text.get_tokenizer(name)) is kind
        assert text.get_tokenizer(name) is text.get_tokenizer(name)
    tokenizer = OfBytes()
    assert text.get_tokenizer(tokenizer) is tokenizer
    assert text.to_tokens(tf.constant(["ab"]), tokenizer).to_list() == [[b"a", b"b"]]
    assert text.get_tokenizer(None) is None


@pytest.mark.parametrize("ops", OPS)
def test_a_tokenizer_is_traced_once_for_each_set_of_operations(ops):
    class Counting(WhitespaceTokenizer):
        traces = 0

        def _tokenize(self, strings, split):
            self.traces += 1
            return super()._tokenize(strings, split)

    counting, batches = Counting(ops=ops), [["a  b", "", "\u00a0c"], [""], []]
    expected = [split(tokenizer_of(WhitespaceTokenizer, ops), batch) for batch in batches]
    for _ in range(2):
        graph = tf.function(counting.tokenize, input_signature=[tf.TensorSpec([None], tf.string)])
        for batch, tokens in zip(batches, expected, strict=True):
            assert graph(tf.constant(batch, tf.string)).to_list() == tokens
            assert counting.tokenize(tf.constant(batch, tf.string)).to_list() == tokens
        del graph  # the trace outlives the graph that made it
    assert counting.traces == len({ops, "core"})  # eager calls have TensorFlow's own operations


def test_a_traced_tokenizer_is_copied_and_pickled():
    traced = SpaceTokenizer()
    expected = traced.tokenize(["a b", "c"]).to_list()
    for copied in (copy.deepcopy(traced), pickle.loads(pickle.dumps(traced))):
        assert copied.tokenize(["a b", "c"]).to_list() == expected
        assert copied.get_config() == traced.get_config()


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_tokenizer_by_its_config(tokenizer):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(tokenizer("core"))))
    restored = text.get_tokenizer(config)
    assert type(restored) is tokenizer and restored.ops == "core"


@pytest.mark.parametrize("identifier", ["moses", {"a": 1}, np.array(3)])
def test_no_tokenizer_is_refused(identifier):
    with pytest.raises(ValueError, match=re.escape(f"Received: tokenizer={identifier!r}")):
        text.get_tokenizer(identifier)
    with pytest.raises(ValueError, match="Received: ops='tf'"):
        WhitespaceTokenizer("tf")


@settings(deadline=None, max_examples=60)
@given(st.lists(noise, max_size=5), st.sampled_from(TOKENIZERS))
@example(EDGES, WhitespaceTokenizer)
@example(EDGES, TreebankTokenizer)
@example(EDGES, SpaceTokenizer)
@example([], TreebankTokenizer)
def test_both_sets_of_ops_give_the_same_tokens_which_offsets_cut(strings, tokenizer):
    tensor = tf.constant(strings, tf.string)
    ours, core = (in_graph(tokenizer_of(tokenizer, ops), tensor) for ops in OPS)
    for one, other in zip(ours, core, strict=True):
        assert one.dtype == other.dtype
        assert one.to_list() == other.to_list()
    assert ours[1].dtype == ours[2].dtype == tf.int64
    rows = zip(strings, *(part.to_list() for part in ours), strict=True)
    for string, tokens, starts, ends in rows:
        assert tokens == [string[a:b] for a, b in zip(starts, ends, strict=True)]
        offsets = [offset for pair in zip(starts, ends, strict=True) for offset in pair]
        assert offsets == sorted(offsets), "tokens are in order and do not overlap"
        assert all(tokens), "no token is empty"


@settings(deadline=None, max_examples=100)
@given(st.text() | texts, st.sampled_from(TOKENIZERS))
def test_spans_cut_the_tokens_from_a_python_string(string, tokenizer):
    tokenizer = tokenizer_of(tokenizer, OPS[0])
    (tokens,) = tokenizer.tokenize(tf.constant([string.encode()])).to_list()
    spans = text.token_spans(string, tokenizer)
    assert [string[start:end].encode() for start, end in spans] == tokens


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize(
    "string", ["", "  ", "a\udcff b", "\ud800\udc80 \udc80", "\U0001f600 e\u0301"]
)
def test_spans_of_odd_texts(name, string):
    spans = text.token_spans(string, name)
    assert "".join(string[start:end] for start, end in spans) == string.replace(" ", "")


def test_spans_need_a_string_and_offsets():
    with pytest.raises(TypeError, match="`text`.*Received: list"):
        text.token_spans(["a b"])
    with pytest.raises(ValueError, match="`tokenizer`"):
        text.token_spans("a b", None)


@pytest.mark.parametrize("tokenizer", [WhitespaceTokenizer, TreebankTokenizer])
@pytest.mark.parametrize("ops", OPS)
def test_memory_of_a_long_line_does_not_grow_with_its_square(tokenizer, ops):
    resource = pytest.importorskip("resource")

    def highest():
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    split(tokenizer_of(tokenizer, ops), ["warm up"])
    before = highest()
    (tokens,) = split(tokenizer_of(tokenizer, ops), ["words " * 20_000])
    assert tokens == [b"words"] * 20_000
    # A copy of the line for each of its tokens would be 2.4e9 bytes.
    assert highest() - before < 0.5e9


@settings(deadline=None, max_examples=20)
@given(st.lists(texts, min_size=1, max_size=3))
def test_a_sentence_is_split_alike_alone_and_in_a_batch(strings):
    for tokenizer in TOKENIZERS:
        alone = [split(tokenizer_of(tokenizer), [string])[0] for string in strings]
        assert split(tokenizer_of(tokenizer), strings) == alone
