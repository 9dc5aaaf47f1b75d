import itertools

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo
from keras_elmo.models import batching

WORDS = ["the", "cat", "sat", "on", "a", "long", "mat", ".", "naïve", "x" * 70]


def sentences(count=60, seed=0):
    rng = np.random.default_rng(seed)
    return [list(rng.choice(WORDS, rng.integers(0, 30))) for _ in range(count)]


@pytest.mark.parametrize("token_budget", [1, 40, 100_000])
def test_the_result_does_not_depend_on_the_batches(elmo, token_budget):
    tokens = sentences()
    vectors = elmo.embed(tokens, layers="all", token_budget=token_budget)
    outputs = elmo(tokens)
    for k, array in enumerate(vectors):
        assert array.shape == (3, len(tokens[k]), 16) and array.dtype == np.float32
        for number in (1, 2):
            expected = outputs[f"lstm_outputs{number}"][k, : len(tokens[k])]
            np.testing.assert_allclose(array[number], expected, atol=1e-6)


def test_every_choice_of_layers(elmo):
    elmo.mixes[0].scalars.assign([0.1, 0.5, 0.9])
    tokens = sentences(10)
    everything = elmo.embed(tokens, layers="all")
    weights = np.exp([0.1, 0.5, 0.9]) / np.exp([0.1, 0.5, 0.9]).sum()
    for layers, expected in {
        0: [array[0] for array in everything],
        1: [array[1] for array in everything],
        2: [array[2] for array in everything],
        "top": [array[2] for array in everything],
        "average": [array.mean(0) for array in everything],
        "elmo": [np.tensordot(weights, array, 1) for array in everything],
    }.items():
        for one, other in zip(elmo.embed(tokens, layers=layers), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


def test_every_form_of_sentences(elmo):
    texts = [" ".join(tokens) for tokens in sentences(8)]
    expected = elmo.embed(texts)
    for form in [
        tuple(texts),
        np.array(texts),
        tf.constant(texts),
        (text for text in texts),
        [text.encode() for text in texts],
        [text.split() for text in texts],
        tf.ragged.constant([text.split() for text in texts]),
        [texts[0], *(text.split() for text in texts[1:])],
    ]:
        for one, other in zip(elmo.embed(form), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    assert elmo.embed([]) == []
    columns = [np.array(texts)[:, None], tf.constant(texts)[:, None]]
    for form in columns:  # each a raw string, as in a call
        for one, other in zip(elmo.embed(form), expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
    assert [array.shape for array in elmo.embed(tf.constant("a b"))] == [(2, 16)]


def test_padded_tokens(small_folder):
    elmo = Elmo.from_pretrained(small_folder, tokenizer=None)
    for form in (np.array([["a", "b"], ["c", ""]]), tf.constant([["a", "b"], ["c", ""]])):
        assert [array.shape for array in elmo.embed(form)] == [(2, 16), (1, 16)]


def test_no_array_keeps_its_batch_alive(elmo):
    arrays = elmo.embed(["a b c", "d"], layers="all")
    assert all(array.base is None and array.flags.c_contiguous for array in arrays)


def test_numbers_of_numpy(elmo):
    one = elmo.embed(["a b"], layers=np.int64(1), token_budget=np.int64(7))[0]
    np.testing.assert_array_equal(one, elmo.embed(["a b"], layers=1)[0])


def test_a_stream_reads_only_a_little_ahead(elmo):
    read = []

    def endless():
        for number in itertools.count():
            read.append(number)
            yield "the cat sat on a mat"

    stream = elmo.embed_stream(endless(), token_budget=64)
    first = [next(stream) for _ in range(5)]
    assert [array.shape for array in first] == [(6, 16)] * 5
    assert len(read) <= 2 * batching._READ_AHEAD


def test_batches_hold_each_sentence_once_within_the_budget():
    window = sentences(50)
    batches = list(batching._batches(window, 64))
    assert sorted(itertools.chain(*batches)) == list(range(50))
    sizes = [[len(window[n]) + 2 for n in batch] for batch in batches]
    assert all(sum(size) <= 64 for size in sizes)
    assert all(size == sorted(size, reverse=True) for size in sizes)


def test_progress_is_shown_on_standard_error(elmo, capsys):
    elmo.embed(["a b", "c"], progress=True)
    captured = capsys.readouterr()
    assert "2/2" in captured.err and captured.out == ""
    elmo.embed(["a b"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        ({"layers": 3}, ValueError, "from 0 to 2. Received: layers=3"),
        ({"layers": -1}, ValueError, "layers=-1"),
        ({"layers": True}, ValueError, "layers=True"),
        ({"layers": "bottom"}, ValueError, "'average', 'top', 'all'.*layers='bottom'"),
        ({"token_budget": 0}, ValueError, "token_budget=0"),
        ({"token_budget": 2.5}, ValueError, "token_budget=2.5"),
        ({"sentences": "one sentence"}, TypeError, r"pass \[sentence\]"),
        ({"sentences": None}, TypeError, "Received: NoneType"),
        ({"sentences": {"a": 1}}, TypeError, "Received: dict"),
        ({"sentences": [1]}, TypeError, r"Received: 1 \(int\)"),
        ({"sentences": [["a", 2]]}, TypeError, r"Received: 2 \(int\)"),
    ],
)
def test_bad_arguments(elmo, kwargs, error, message):
    with pytest.raises(error, match=message):
        elmo.embed(**{"sentences": ["a b"], **kwargs})
