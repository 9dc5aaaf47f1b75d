import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo
from keras_elmo.models.sentences import groups, token_batches
from keras_elmo.text import SpaceTokenizer


def test_tokens_of_sentences(elmo, small_folder):
    texts = ["The  cat sat .", "", b"na\xc3\xafve \xff", ("a b", "c")]
    tokens = elmo.tokenize(texts)
    assert tokens == [["The", "cat", "sat", "."], [], ["na\u00efve", "\udcff"], ["a b", "c"]]
    for one, other in zip(elmo.embed(tokens), elmo.embed(texts), strict=True):
        np.testing.assert_array_equal(one, other)
    assert elmo.tokenize(np.array(["a b"])) == elmo.tokenize(tf.constant("a b")) == [["a", "b"]]
    assert elmo.tokenize(text for text in ["a b"] * 300) == [["a", "b"]] * 300
    with pytest.raises(TypeError, match=r"pass \[sentence\]"):
        elmo.tokenize("one sentence")
    pretokenised = Elmo.from_pretrained(small_folder, tokenizer=None)
    assert pretokenised.tokenize(np.array([["a", "b"], ["c", ""]])) == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="must be a list of tokens"):
        pretokenised.tokenize(["a b"])


def test_groups_keep_the_order_and_the_budget():
    tokens = [[b"w"] * count for count in (3, 0, 9, 1, 1, 2, 8)]
    found = list(groups(None, tokens, token_budget=10))
    # With the boundaries, 5 + 2, 11, 3 + 3 + 4, and 10 tokens.
    assert found == [tokens[:2], tokens[2:3], tokens[3:6], tokens[6:]]
    cut = list(groups(None, tokens, token_budget=10, max_tokens=1))
    assert [len(sentence) for group in cut for sentence in group] == [1, 0, 1, 1, 1, 1, 1]
    assert list(groups(None, [], token_budget=10)) == []


def test_batches_are_ragged_tensors_of_groups():
    batches = token_batches(SpaceTokenizer(), ["a b", "c", ["d e"]], token_budget=7)
    assert [batch.to_list() for batch in batches] == [[[b"a", b"b"], [b"c"]], [[b"d e"]]]
