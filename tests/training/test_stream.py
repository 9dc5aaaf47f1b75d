import itertools
import threading

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo.training import Corpus, Stream
from keras_elmo.training.stream import log_uniform_sample, read_ahead
from keras_elmo.training.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", *"abcdefgh"])


def read(batch):
    """What each direction reads and predicts, as words: two arrays (2, batch, tokens)."""
    words = ["<S>", "</S>", *(word.decode() for word in batch["words"])]
    inputs = np.array(words, object)[batch["inputs"]]
    return inputs, np.array(VOCABULARY.words, object)[batch["targets"]]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sentences=st.lists(st.lists(st.sampled_from("abcxyz"), min_size=1, max_size=9), max_size=12),
    batch_size=st.integers(1, 4),
    unroll_steps=st.integers(1, 7),
)
def test_every_sentence_is_read_whole_in_a_lane(sentences, batch_size, unroll_steps):
    stream = Stream(VOCABULARY, batch_size, unroll_steps)
    lanes = [[] for _ in range(2 * batch_size)]
    for batch in stream.evaluation_batches(sentences):
        inputs, targets = read(batch)
        mask = batch["mask"]
        starts = (inputs[0, :, 0] == "<S>") & mask[:, 0]
        assert starts.tolist() == batch["starts_sentence"].tolist()
        assert not np.any(mask[:, 1:] & ~mask[:, :-1])  # real tokens first
        for direction, lane in itertools.product(range(2), range(batch_size)):
            real = direction, lane, mask[lane]
            lanes[direction * batch_size + lane] += zip(inputs[real], targets[real], strict=True)
        assert len(set(batch["words"])) == len(batch["words"])
        assert tf.constant(batch["words"]).dtype == tf.string  # of no word, too
    found = [[], []]
    for index, lane in enumerate(lanes):
        first, last = [("<S>", "</S>"), ("</S>", "<S>")][index // batch_size]
        sentence = None
        for read_word, predicted in lane:
            if read_word == first:
                assert sentence is None  # the one before has ended
                sentence = []
            if predicted == last:
                found[index // batch_size].append(sentence)
                sentence = None
            else:
                sentence.append(predicted)
        assert sentence is None
    known = [[w if w in "abc" else "<UNK>" for w in sentence] for sentence in sentences]
    assert sorted(found[0]) == sorted(known)
    assert sorted(found[1]) == sorted(sentence[::-1] for sentence in known)


def test_windows_are_those_of_the_drawing():
    """The drawing is in the docstring of `Stream`; a dot stands where a lane has ended."""
    batches = list(Stream(VOCABULARY, 2, 4).evaluation_batches(["abc", "de", "fgh", "i"]))
    drawn = [  # windows, lanes
        ["<S> a b c", "a b c </S>", "</S> c b a", "c b a <S>"],
        ["<S> d e <S>", "d e </S> f", "</S> e d </S>", "e d <S> h"],
        ["<S> i . .", "<UNK> </S> . .", "</S> i . .", "<UNK> <S> . ."],
        ["f g h .", "g h </S> .", "h g f .", "g f <S> ."],
    ]
    assert [int(batch["step"]) for batch in batches] == [0, 1]
    for index, rows in enumerate(drawn):
        batch, lane = batches[index // 2], index % 2
        assert batch["starts_sentence"][lane] == (index < 3)
        inputs, targets = read(batch)
        found = [inputs[0, lane], targets[0, lane], inputs[1, lane], targets[1, lane]]
        assert [" ".join(np.where(batch["mask"][lane], row, ".")) for row in found] == rows


def take(batches, count):
    return list(itertools.islice(batches, count))


def test_training_resumes_where_it_ended(corpus):
    stream = Stream(VOCABULARY, 4, 5, num_negatives=3, sample_seed=7)
    batches = take(stream.training_batches(corpus, order_seed=1), 60)  # more than two epochs
    assert sum(corpus.counts()) * 2 < 60 * 20
    again = take(stream.training_batches(corpus, order_seed=1, start=23), 37)
    for one, other in zip(batches[23:], again, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)
    assert [batch["step"] for batch in again] == list(range(23, 60))
    other_seed = next(stream.training_batches(corpus, order_seed=2))
    assert not np.array_equal(other_seed["targets"], batches[0]["targets"])
    for name, spec in stream.training_specs().items():
        assert spec.is_compatible_with(tf.constant(batches[0][name]))
    assert stream.training_specs().keys() == batches[0].keys()


def test_a_thread_reads_a_few_items_ahead():
    read, threads = [], set()

    def items():
        try:
            for k in itertools.count():
                threads.add(threading.current_thread())
                read.append(k)
                yield k
        finally:
            read.append("closed")

    ahead = read_ahead(items())
    assert read == []
    assert [next(ahead) for _ in range(9)] == list(range(9))
    (thread,) = threads
    assert thread is not threading.current_thread()
    ahead.close()
    thread.join(10)
    assert not thread.is_alive() and len(read) <= 9 + 4 + 1
    assert list(read_ahead(iter("abcdefg"))) == list("abcdefg")


def test_samples_are_distinct_and_log_uniform():
    rng = np.random.default_rng(0)
    counts, total_draws = np.zeros(50), 0
    for _ in range(2000):
        words, num_draws = log_uniform_sample(rng, 10, 50)
        assert words.dtype == np.int32 and len(set(words.tolist())) == 10 <= num_draws
        assert 0 <= words.min() <= words.max() < 50
        counts[words] += 1
        total_draws += num_draws
    k = np.arange(50)
    chance = np.log((k + 2) / (k + 1)) / np.log(51)
    expected = -np.expm1(total_draws / 2000 * np.log1p(-chance))
    np.testing.assert_allclose(counts / 2000, expected, atol=0.04)
    assert sorted(log_uniform_sample(rng, 8, 8)[0].tolist()) == list(range(8))


def test_a_text_that_is_emptied_while_it_is_read_ends_the_stream(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a b\n" * 20)
    batches = Stream(VOCABULARY, 2, 3).training_batches(Corpus(str(path)))
    next(batches)
    path.write_text("")
    with pytest.raises(ValueError, match="must have sentences. Received: none in epoch"):
        take(batches, 1000)
