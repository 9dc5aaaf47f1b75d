import itertools
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_elmo import CharCNNEmbedding
from keras_elmo.characters import Dictionary, text_to_bytes
from keras_elmo.text.character_ids import ByteScheme
from keras_elmo.text.dictionary_scheme import DictionaryScheme
from keras_elmo.training import Corpus
from keras_elmo.training.stream import Stream, log_uniform_sample, read_ahead
from keras_elmo.training.vocabulary import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", *"abcdefgh"])
BYTES = ByteScheme(50)
DICTIONARY = DictionaryScheme(Dictionary([*Dictionary.MARKS, *"abx"], ["<oov>", "abx"]), 12)
# The boundaries, where a text has the words <S> and </S>, too.
BEGIN, END, NOTHING = "begin", "end", "."
WORDS = ["a", "b", "c", "x", "zz", "abc", "é", "\udc80\ud800", "<S>", "</S>", "a" * 60]


def windows_of(sentences, batch_size, unroll_steps):
    """What each lane of each window reads and predicts, and whether it starts with a sentence.

    Yields a list, for each lane a pair: rows of tokens (forward inputs and targets, then backward),
    and a bool.
    """
    sentences, lanes = iter(sentences), [[] for _ in range(batch_size)]
    while True:
        window = []
        for lane in lanes:
            is_new, places = not lane, []
            while len(places) < unroll_steps:
                if not lane:
                    sentence = next(sentences, None)
                    if sentence is None:
                        break
                    forward = [BEGIN, *sentence, END]
                    backward = forward[::-1]
                    lane += zip(forward, forward[1:], backward, backward[1:], strict=False)
                places.append(lane.pop(0))
            is_new = is_new and bool(places)
            places += [(NOTHING,) * 4] * (unroll_steps - len(places))
            window.append((list(map(list, zip(*places, strict=True))), is_new))
        if not any(rows[0][0] != NOTHING for rows, _ in window):
            return
        yield window


def read_lane(batch, lane, tokens):
    """A lane as in `windows_of`. The words are recognised among `tokens` by their characters."""
    names = {tuple(BYTES.rows([token])[0]): token for token in tokens}
    names |= {tuple(row): name for row, name in zip(BYTES.boundaries, (BEGIN, END), strict=True)}
    mask = batch.get("mask", np.ones_like(batch["inputs"][:, 0], bool))[lane]
    rows = []
    for direction in range(2):
        read = batch["characters"][batch["inputs"][lane, direction]]
        rows.append([names[tuple(ids)] for ids in read])
        rows.append([VOCABULARY.words[word] for word in batch["targets"][lane, direction]])
    rows = [[w if real else NOTHING for w, real in zip(row, mask, strict=True)] for row in rows]
    return rows, bool(batch["starts"][lane])


def as_predicted(token):
    known = {BEGIN: "<S>", END: "</S>", NOTHING: NOTHING}
    return known.get(token, token if token in VOCABULARY.ids else "<UNK>")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    sentences=st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9), max_size=12),
    batch_size=st.integers(1, 4),
    unroll_steps=st.integers(1, 7),
)
def test_windows_are_those_of_plain_python(sentences, batch_size, unroll_steps):
    lanes = Stream(VOCABULARY, BYTES, batch_size, unroll_steps, word_multiple=3)
    batches = list(lanes.evaluation_batches(sentences))
    windows = list(windows_of(sentences, batch_size, unroll_steps))
    assert len(batches) == len(windows) == lanes.count_windows(sentences)
    for batch, window in zip(batches, windows, strict=True):
        for lane, (rows, is_new) in enumerate(window):
            rows[1], rows[3] = (list(map(as_predicted, rows[k])) for k in (1, 3))
            assert read_lane(batch, lane, WORDS) == (rows, is_new)
        real = batch["characters"][batch["characters"].any(axis=1)]
        assert len(batch["characters"]) == -(-len(real) // 3) * 3
        assert not batch["characters"][len(real) :].any()
        assert real[:2].tolist() == BYTES.boundaries.tolist()
        read = {token for rows, _ in window for token in rows[0] + rows[2]}
        lengths = [len(text_to_bytes(word)[:48]) + 2 for word in read - {BEGIN, END, NOTHING}]
        assert (real[2:] != BYTES.word_padding).sum(axis=1).tolist() == sorted(lengths)
        assert batch.keys() == {"characters", "inputs", "targets", "starts", "mask"}


def test_windows_are_those_of_the_drawing():
    """The drawing is in the docstring of `Stream`; a dot stands where a lane has ended."""
    sentences = ["abc", "de", "fgh", "i"]
    batches = list(Stream(VOCABULARY, BYTES, 2, 4).evaluation_batches(sentences))
    drawn = [  # windows, lanes
        ["begin a b c", "a b c </S>", "end c b a", "c b a <S>"],
        ["begin d e begin", "d e </S> f", "end e d end", "e d <S> h"],
        ["begin i . .", "<UNK> </S> . .", "end i . .", "<UNK> <S> . ."],
        ["f g h .", "g h </S> .", "h g f .", "g f <S> ."],
    ]
    for index, expected in enumerate(drawn):
        rows, starts = read_lane(batches[index // 2], index % 2, "abcdefghi")
        assert list(map(" ".join, rows)) == expected and starts == (index < 3)


def take(batches, count):
    return list(itertools.islice(batches, count))


def assert_same(batches, others):
    for one, other in zip(batches, others, strict=True):
        assert one.keys() == other.keys()
        for name, values in one.items():
            np.testing.assert_array_equal(values, other[name], strict=True)


def test_training_resumes_where_it_ended(corpus, monkeypatch):
    lanes = Stream(VOCABULARY, BYTES, 4, 5, num_negatives=3, sample_seed=7)
    batches = take(lanes.training_batches(corpus, order_seed=1), 60)  # more than two epochs
    assert sum(corpus.counts()) * 2 < 60 * 20
    epochs = itertools.chain.from_iterable(corpus.epoch(k, 1) for k in range(4))
    for batch, window in zip(batches, windows_of(epochs, 4, 5), strict=False):
        for lane, (rows, is_new) in enumerate(window):
            found, starts = read_lane(batch, lane, "abcdefghijklmnopqrstuvwx")
            assert found[::2] == rows[::2] and starts == is_new
    shapes = {name: (values.dtype, values.shape) for name, values in batches[0].items()}
    assert shapes == {
        "characters": (np.int32, (64, 50)),
        "inputs": (np.int32, (4, 2, 5)),
        "targets": (np.int32, (4, 2, 5)),
        "starts": (bool, (4,)),
        "negatives": (np.int32, (3, 2)),
        "num_draws": (np.int32, (4, 2)),
    }
    assert not np.array_equal(batches[0]["negatives"], batches[1]["negatives"])
    assert_same(take(lanes.training_batches(corpus, order_seed=1, start=23), 37), batches[23:])
    other_seed = next(lanes.training_batches(corpus, order_seed=2))
    assert not np.array_equal(other_seed["targets"], batches[0]["targets"])
    monkeypatch.setattr("keras_elmo.training.stream._MAX_WORDS", 12)  # of 24 in the text
    assert_same(take(lanes.training_batches(corpus, order_seed=1), 60), batches)


@pytest.mark.parametrize("scheme", [BYTES, DICTIONARY])
@pytest.mark.parametrize("widest", [1, 5])
def test_characters_that_are_cut_give_the_same_embeddings(scheme, widest):
    layer = CharCNNEmbedding(
        filters=[(1, 4), (widest, 8)],
        num_characters=scheme.num_characters,
        word_padding=scheme.word_padding,
        num_words=scheme.num_words,
        word_dim=scheme.num_words and 3,
        projection_dim=6,
        trim_characters=False,
    )
    columns = []
    for word in ["", "a", "abx", "a" * 9, "a" * 60]:
        whole, cut = (
            next(Stream(VOCABULARY, scheme, 1, 4, **cut).evaluation_batches([[word]]))["characters"]
            for cut in ({}, {"widest_filter": widest})
        )
        np.testing.assert_allclose(layer(cut), layer(whole), atol=1e-6)
        columns.append(cut.shape[1])
    assert whole.shape[1] == scheme.ids_per_token
    if scheme is BYTES:
        assert columns == {1: [8, 8, 8, 16, 50], 5: [8, 8, 16, 16, 50]}[widest]
    else:
        assert columns == {1: [9, 9, 9, 13, 13], 5: [9, 9, 13, 13, 13]}[widest]


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
    batches = Stream(VOCABULARY, BYTES, 2, 3).training_batches(Corpus(str(path)))
    next(batches)
    path.write_text("")
    with pytest.raises(ValueError, match="must have sentences. Received: none in epoch"):
        take(batches, 1000)


def test_a_fault_of_a_file_reaches_the_reader(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"a b\n" * 20 + b"\xff\n")
    batches = Stream(VOCABULARY, BYTES, 2, 3).training_batches(Corpus(str(path)))
    with pytest.raises(ValueError, match="must be utf-8.*line 21"):
        take(read_ahead(batches), 1000)
