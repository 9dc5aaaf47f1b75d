import itertools

import numpy as np
import pytest

from keras_elmo import Elmo
from keras_elmo.models.sentences import MAX_TOKENS, batches, groups, token_batches
from keras_elmo.text import SpaceTokenizer


def test_tokens_of_sentences(elmo, one_layer_folder, untraced):
    texts = ["The  cat sat .", "", b"na\xc3\xafve \xff", ("a b", "c")]
    tokens = elmo.tokenize(texts)
    assert tokens == [["The", "cat", "sat", "."], [], ["na\u00efve", "\udcff"], ["a b", "c"]]
    for one, other in zip(elmo.embed(tokens), elmo.embed(texts), strict=True):
        np.testing.assert_array_equal(one, other)
    assert elmo.tokenize(text for text in ["a b"] * 300) == [["a", "b"]] * 300
    pretokenised = Elmo.from_pretrained(one_layer_folder, tokenizer=None)
    assert pretokenised.tokenize(np.array([["a", "b"], ["c", ""]])) == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="must be a list of tokens"):
        pretokenised.tokenize(["a b"])


def test_batches_for_the_language_model_keep_the_order_and_the_budget():
    tokens = [[b"w"] * count for count in (3, 0, 9, 1, 1, 2, 8)]
    # With the boundaries, 5 + 2, 11, 3 + 3 + 4, and 10 tokens.
    expected = [tokens[:2], tokens[2:3], tokens[3:6], tokens[6:]]
    assert [batch.to_list() for batch in token_batches(None, tokens, 10)] == expected
    assert list(token_batches(None, [], token_budget=10)) == []
    mixed = token_batches(SpaceTokenizer(), ["a b", "c", ["d e"]], token_budget=7)
    assert [batch.to_list() for batch in mixed] == [[[b"a", b"b"], [b"c"]], [[b"d e"]]]


@pytest.mark.parametrize(
    "lengths, token_budget, sizes",
    [
        (24 * [1000], None, [24]),  # 24 rows, in the memory that 24,576 tokens take
        (4 * [1000], None, [4]),
        (30 * [10_000], None, 15 * [2]),
        (32 * [500], None, [32]),  # 24 and a rest of 8: together
        (54 * [300], None, [24, 30]),
        (800 * [10], None, [341, 341, 118]),  # as many rows as 4,096 tokens have
        ([2000, *(100 * [10])], None, [101]),
        ([3, 30, 0, 28, 12, 80, 31], 64, [1, 1, 2, 3]),
    ],
)
def test_batches_hold_each_sentence_once_within_the_budget(lengths, token_budget, sizes):
    group = [[b"w"] * length for length in lengths]
    found = batches(group, token_budget)
    assert sorted(itertools.chain(*found)) == list(range(len(group)))
    assert [len(batch) for batch in found] == sizes
    sorted_lengths = [len(group[row]) for batch in found for row in batch]
    assert sorted_lengths == sorted(lengths, reverse=True)
    tokens = [sum(len(group[row]) + 2 for row in batch) for batch in found if len(batch) > 1]
    assert max(tokens) <= (token_budget or MAX_TOKENS)


@pytest.mark.parametrize("token_budget, sizes", [(None, [24, 24, 2]), (4096, [16, 16, 16, 2])])
def test_a_group_is_as_large_as_a_batch_of_long_sentences(token_budget, sizes):
    found = groups([[b"w"] * 1000] * 50, token_budget)
    assert [len(group) for group in found] == sizes
