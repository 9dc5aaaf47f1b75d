import itertools

import numpy as np
import pytest

from keras_elmo import Elmo
from keras_elmo.models.embed_stream import MAX_TOKENS, batches, groups, token_batches
from keras_elmo.text import SpaceTokenizer
from keras_elmo.text.reading import READ_AHEAD

WORDS = ["the", "cat", "sat", "on", "a", "long", "mat", ".", "naïve", "x" * 70]


def random_sentences(count):
    rng = np.random.default_rng(0)
    return [list(rng.choice(WORDS, rng.integers(0, 12))) for _ in range(count)]


@pytest.mark.parametrize("token_budget", [1, np.int64(40), None])
def test_the_result_does_not_depend_on_the_batches(elmo, token_budget):
    tokens = random_sentences(10)
    vectors = elmo.embed(tokens, layers="all", token_budget=token_budget)
    outputs = elmo(tokens)
    for k, array in enumerate(vectors):
        assert array.shape == (3, len(tokens[k]), 16) and array.dtype == np.float32
        for number in (1, 2):
            expected = outputs[f"lstm_outputs{number}"][k, : len(tokens[k])]
            np.testing.assert_allclose(array[number], expected, atol=1e-6)


def test_every_choice_of_layers(new_elmo, untraced):
    new_elmo.mixes[0].scalars.assign([0.1, 0.5, 0.9])
    tokens = random_sentences(10)
    everything = new_elmo.embed(tokens, layers="all")
    weights = np.exp([0.1, 0.5, 0.9]) / np.exp([0.1, 0.5, 0.9]).sum()
    choices = {
        np.int64(1): [array[1] for array in everything],
        "top": [array[2] for array in everything],
        "average": [array.mean(0) for array in everything],
        "sum": [array.sum(0) for array in everything],
        "elmo": [np.tensordot(weights, array, 1) for array in everything],
        -1: [array[2] for array in everything],
        -3: [array[0] for array in everything],
        "lstm_outputs1": [array[1] for array in everything],
        "word_emb": [array[0][:, :8] for array in everything],
        "default": new_elmo(tokens)["default"].numpy(),
    }
    for row, result in enumerate(new_elmo.embed_stream(tokens, list(choices))):
        for choice, expected in choices.items():
            array = result[choice]
            assert array.dtype == np.float32 and array.flags.c_contiguous
            assert array.base is None  # a view would keep its whole batch in memory
            np.testing.assert_allclose(array, expected[row], atol=1e-6)
    for choice in ("elmo", -1):
        for array, expected in zip(new_elmo.embed(tokens, choice), choices[choice], strict=True):
            np.testing.assert_allclose(array, expected, atol=1e-6)


def test_a_list_of_choices_gives_a_dict_for_each_sentence(small_folder, untraced):
    elmo = Elmo.from_pretrained(small_folder, num_mixes=2, do_layer_norm=True)
    elmo.mixes[1].scalars.assign([0.1, 0.5, 0.9])
    tokens = [[], *random_sentences(10)]
    results = elmo.embed(tokens, layers=["elmo_2", "default"])
    assert list(results[0]) == ["elmo_2", "default"] and not results[0]["default"].any()
    outputs = elmo(tokens)
    for k, result in enumerate(results):
        # A layer norm is over the batch, which is one here.
        expected = outputs["elmo_2"][k, : len(tokens[k])]
        np.testing.assert_allclose(result["elmo_2"], expected, atol=1e-5)
        np.testing.assert_allclose(result["default"], outputs["default"][k], atol=1e-5)


def test_no_sentences_and_one_choice(elmo):
    assert elmo.embed([]) == [] and elmo.embed([], layers=["default"]) == []
    assert elmo.embed([], layers="default").shape == (0, 16)
    assert elmo.embed(["a", "b c"], layers="default").shape == (2, 16)


def test_a_stream_reads_only_a_little_ahead(elmo):
    read = []

    def endless():
        for number in itertools.count():
            read.append(number)
            yield "the cat sat on a mat"

    stream = elmo.embed_stream(endless(), token_budget=64)
    first = [next(stream) for _ in range(5)]
    assert [array.shape for array in first] == [(6, 16)] * 5
    assert len(read) <= 2 * READ_AHEAD


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        *[({"layers": x}, ValueError, "`layers` must") for x in (3, -4, True, "mask", [], [0, 3])],
        ({"token_budget": 0}, ValueError, "token_budget"),
        ({"sentences": 3}, TypeError, "int"),
        ({"sentences": {"a": 1}}, TypeError, "dict"),
    ],
)
def test_bad_arguments_are_refused_at_once(elmo, kwargs, error, message):
    with pytest.raises(error, match=message):
        elmo.embed_stream(**{"sentences": ["a b"], **kwargs})


def test_words_are_encoded_in_one_order(new_elmo, untraced, monkeypatch):
    """In the order of a set of bytes, which each process has anew, the last bits would differ."""
    orders, encoder = [], new_elmo.token_encoder
    encode = encoder.from_many_words
    monkeypatch.setattr(encoder, "from_many_words", lambda x: orders.append([*x]) or encode(x))
    new_elmo.embed(["b a", "ccc a dd", "cc \u00e9"])
    assert orders == [[b"a", b"b", b"cc", b"dd", "\u00e9".encode(), b"ccc"]]


def test_vectors_of_the_length_1_and_their_cosine(elmo, untraced):
    texts = ["a b c", "d", "", "a b"]
    vectors = elmo.embed(texts, layers="default")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found = elmo.embed(texts, layers="default", normalize=True)
    np.testing.assert_allclose(found * lengths, vectors, atol=1e-6)
    cosines = found @ found.T
    np.testing.assert_allclose(np.diag(cosines), [1, 1, 0, 1], atol=1e-6)
    for other, text in enumerate(texts):
        similarity = elmo.similarity("a b c", text.split())
        assert isinstance(similarity, float)
        assert similarity == pytest.approx(cosines[0, other], abs=1e-6)
    for layers in ("elmo", ["default"]):
        with pytest.raises(ValueError, match="With `normalize=True`, `layers` must be"):
            elmo.embed(texts, layers=layers, normalize=True)


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
