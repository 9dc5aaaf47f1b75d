"""`Stream`: a corpus dealt out to lanes and cut into windows, and a thread that reads ahead."""

import collections
import concurrent.futures
import dataclasses
import itertools
from typing import Any

import numpy as np

from keras_elmo.training.vocabulary import Vocabulary

_NUM_AHEAD = 4  # batches: enough that a slow one (a new file) delays no training step
# The first indices of `_Words`. They also stand for the boundaries in lists of tokens, where no
# `str` can be mistaken for them.
_BEGIN, _END = 0, 1
_MAX_WORDS = 2**18  # of `_Words`, some 300 bytes each; more of them are not faster
_COLUMN_MULTIPLE = 8  # of characters, so that batches have few shapes


@dataclasses.dataclass(frozen=True)
class Stream:
    """Windows of a corpus for truncated back-propagation, as numbers.

    A lane is a row of the batch (a stream in bilm-tf), which reads sentence after sentence. A
    window holds the next `unroll_steps` tokens of every lane. When a sentence ends, the lane takes
    the next one of the corpus, the first lane first, as in the original. The backward direction
    reads each sentence of the lane from its end. The target of a token is the next token that the
    direction reads.

    Two lanes with windows of four tokens read the sentences "a b c", "d e", "f g h" and "i" so:

                                window 0                window 1
        lane 0                  a b c                   i
          forward   inputs      <S>   a     b     c     <S>   i     .     .
                    targets     a     b     c     </S>  i     </S>  .     .
          backward  inputs      </S>  c     b     a     </S>  i     .     .
                    targets     c     b     a     <S>   i     <S>   .     .
        lane 1                  d e, f g h              f g h (continued)
          forward   inputs      <S>   d     e     <S>   f     g     h     .
                    targets     d     e     </S>  f     g     h     </S>  .
          backward  inputs      </S>  e     d     </S>  h     g     f     .
                    targets     e     d     <S>   h     g     f     <S>   .
        starts                  [True, True]            [True, False]

    A dot means that the lane has ended: only in evaluation, which masks it.

    A batch is a dict of NumPy arrays:

    - `"characters"`: int32, (words, ids_per_token). The ids of `<S>`, of `</S>`, and of the
      distinct words of the window, the shortest first; then zeros, up to the `word_multiple`.
    - `"inputs"`: int32, (batch, 2, tokens). The rows of `"characters"` that the forward and the
      backward direction read.
    - `"targets"`: int32, (batch, 2, tokens), like the inputs. The ids of the target words.
    - `"starts"`: bool, (batch,). Whether a lane's window starts with a sentence.
    - `"mask"`: bool, (batch, tokens), in evaluation. False where the lane has ended.
    - `"negatives"`: int32, (num_negatives, 2), and `"num_draws"`: int32, (batch, 2), the same in
      each lane. The samples of each direction, see `Softmax.loss`, unless `num_negatives` is 0.

    Args:
        vocabulary: a `Vocabulary`.
        scheme: the character scheme of the model, such as `ByteScheme`.
        batch_size: int. The number of lanes.
        unroll_steps: int. The number of tokens in a window of a lane.
        num_negatives: int. The number of samples of each direction, or 0.
        sample_seed: int. The seed of the samples.
        word_multiple: int. The number of words in `"characters"` is a multiple of it.
        widest_filter: int or `None`. With the width of the widest filter of a `CharCNNEmbedding`,
            the characters are cut to the longest word of the window, which does not change the
            embeddings: a filter still sees all characters, and padding alone.
    """

    vocabulary: Vocabulary
    scheme: Any
    batch_size: int
    unroll_steps: int
    num_negatives: int = 0
    sample_seed: int = 0
    word_multiple: int = 64
    widest_filter: int | None = None

    def training_batches(self, corpus, order_seed=None, start=0):
        """Yields endless batches of full windows, epoch after epoch.

        Args:
            corpus: a `Corpus`.
            order_seed: int, the seed of the order of sentences; or `None`: that of the files.
            start: int. The number of batches that are skipped, as a resumed run has seen them.
        """

        def epochs():
            for number in itertools.count():
                sentences = corpus.epoch(number, order_seed)
                if (first := next(sentences, None)) is None:
                    raise ValueError(
                        f"Each epoch must have sentences. Received: none in epoch {number}"
                    )
                yield first
                yield from sentences

        for batch, _ in self._batches(epochs(), start):
            yield batch

    def evaluation_batches(self, sentences):
        """Yields batches with every sentence (list of `str`) once; lanes that ended are masked."""
        for batch, mask in self._batches(sentences):
            yield {**batch, "mask": mask}

    def count_windows(self, sentences):
        """The number of batches of `evaluation_batches`."""
        return sum(1 for _ in self._windows(sentences))

    def _batches(self, sentences, start=0):
        """Yields batches, each with its mask, without the first ones."""
        words = _Words(self.vocabulary, self.scheme)
        windows = itertools.islice(self._windows(sentences), start, None)
        for step, window in enumerate(windows, start):
            if words.num_words > _MAX_WORDS:
                words = _Words(self.vocabulary, self.scheme)
            yield self._make_batch(window, step, words)

    def _windows(self, sentences):
        """Yields windows: for each lane `[(sentence with boundaries, start, end), ...]`.

        The lane reads the tokens from `start` to `end - 1`, and predicts the next one of each.
        """
        sentences = iter(sentences)
        lanes = [None] * self.batch_size  # the unfinished sentence of each, and its next token
        while True:
            window = []
            for lane in range(self.batch_size):
                room, pieces = self.unroll_steps, []
                while room:
                    if lanes[lane] is None:
                        sentence = next(sentences, None)
                        if sentence is None:
                            break
                        lanes[lane] = ([_BEGIN, *sentence, _END], 0)
                    sentence, start = lanes[lane]
                    last = len(sentence) - 1
                    end = min(start + room, last)
                    pieces.append((sentence, start, end))
                    room -= end - start
                    lanes[lane] = (sentence, end) if end < last else None
                window.append(pieces)
            if not any(window):
                return
            yield window

    def _make_batch(self, window, step, words):
        """The batch of a window, and its mask, bool, (batch, tokens)."""
        spans = [sentence[start : end + 1] for pieces in window for sentence, start, end in pieces]
        for sentence, start, end in itertools.chain.from_iterable(window):
            last = len(sentence) - 1
            spans.append(sentence[last - end : last - start + 1][::-1])  # read backward
        tokens = map(words.index.__getitem__, itertools.chain.from_iterable(spans))
        tokens = np.fromiter(tokens, np.int64)
        sizes = np.fromiter(map(len, spans), np.int64)
        ends = np.cumsum(sizes)
        # The target of an input follows it, so a span has one token more than it has inputs.
        inputs, targets = np.delete(tokens, ends - 1), np.delete(tokens, ends - sizes)
        distinct, inputs = words.number(inputs)
        lengths = [sum(end - start for _, start, end in pieces) for pieces in window]
        mask = np.arange(self.unroll_steps) < np.array(lengths)[:, None]
        values = np.zeros((2, 2, *mask.shape), np.int32)  # inputs and targets, directions, lanes
        values[..., mask] = np.stack([inputs, words.targets[targets]]).reshape(2, 2, -1)
        inputs, targets = values.transpose(0, 2, 1, 3).copy()
        batch = {
            "characters": self._characters(words.rows[distinct], words.lengths[distinct].max()),
            "inputs": inputs,
            "targets": targets,
            "starts": np.array([bool(pieces) and pieces[0][1] == 0 for pieces in window]),
        }
        if self.num_negatives:
            rng = np.random.default_rng([self.sample_seed, step])
            samples = [
                log_uniform_sample(rng, self.num_negatives, len(self.vocabulary)) for _ in range(2)
            ]
            negatives, num_draws = zip(*samples, strict=True)
            batch["negatives"] = np.stack(negatives, axis=1)
            batch["num_draws"] = np.tile(np.array(num_draws, np.int32), (self.batch_size, 1))
        return batch, mask

    def _characters(self, rows, longest):
        """The rows of words with as many characters as `longest` or fewer, cut and filled up."""
        if self.widest_filter is not None:
            num_characters = _num_characters(self.scheme)
            end = min(_round_up(longest + self.widest_filter, _COLUMN_MULTIPLE), num_characters)
            rows = np.hstack([rows[:, :end], rows[:, num_characters:]])
        shape = _round_up(len(rows), self.word_multiple), rows.shape[1]
        characters = np.zeros(shape, np.int32)
        characters[: len(rows)] = rows
        return characters


class _Words:
    """The distinct words of a text by an index, so that the ids of each are made once.

    Indices 0 and 1 are the boundaries. The indices of words depend on what was read before, and
    batches do not.

    Attributes:
        index: dict, of a token to its index. A new word gets the next one, and ids in `number`.
        num_words: int. How many entries of the arrays are in use.
        rows: (words, ids_per_token). The character ids.
        lengths: int16, (words,). The number of characters.
        targets: int32, (words,). The ids of the vocabulary.
    """

    def __init__(self, vocabulary, scheme):
        self._vocabulary, self._scheme = vocabulary, scheme
        self.index = collections.defaultdict(itertools.count(2).__next__)
        self.index.update({_BEGIN: _BEGIN, _END: _END})
        dtype = np.min_scalar_type(max(scheme.num_characters, scheme.num_words or 0))
        self.num_words = 0
        self.rows = np.zeros((0, scheme.ids_per_token), dtype)
        self.lengths, self.targets = np.zeros(0, np.int16), np.zeros(0, np.int32)
        self._places = np.zeros(0, np.int64)
        self._add(scheme.boundaries, [vocabulary.begin, vocabulary.end])

    def number(self, indices):
        """The distinct indices, the boundaries first and then the shortest words; and the number
        of each index among these.
        """
        if num_new := len(self.index) - self.num_words:
            words = list(itertools.islice(reversed(self.index), num_new))[::-1]
            ids, unknown = self._vocabulary.ids, self._vocabulary.unknown
            self._add(self._scheme.rows(words), [ids.get(word, unknown) for word in words])
        indices = np.concatenate([[_BEGIN, _END], indices])
        distinct = indices[_first_places(indices, self._places)]
        # NumPy is fast at a stable order of integers of 16 bits.
        distinct[2:] = distinct[2:][np.argsort(self.lengths[distinct[2:]], kind="stable")]
        self._places[distinct] = np.arange(len(distinct))
        return distinct, self._places[indices[2:]]

    def _add(self, rows, targets):
        start, self.num_words = self.num_words, self.num_words + len(rows)
        if self.num_words > len(self.rows):
            for array in (self.rows, self.lengths, self.targets, self._places):
                array.resize((2 * self.num_words, *array.shape[1:]), refcheck=False)
        new = slice(start, self.num_words)
        characters = rows[:, : _num_characters(self._scheme)]
        self.rows[new], self.targets[new] = rows, targets
        self.lengths[new] = (characters != self._scheme.word_padding).sum(axis=1)


def _num_characters(scheme):
    """The number of characters in a row. The id of the word may follow them."""
    return scheme.ids_per_token - (scheme.num_words is not None)


def _round_up(number, multiple):
    return -(-number // multiple) * multiple


def _first_places(values, room):
    """Where each distinct value stands first: the sorted indices of `np.unique`, but faster.

    `room` is an array with an entry for each possible value, which may hold anything.
    """
    places = np.arange(len(values))
    room[values[::-1]] = places[::-1]  # the first place is written last
    return np.flatnonzero(room[values] == places)


def read_ahead(items):
    """Yields what an iterator yields (no `None`); a thread takes the next four items meanwhile.

    The thread ends with the iterator, and when the generator that this returns is closed.
    """
    executor = concurrent.futures.ThreadPoolExecutor(1)  # one thread: the items keep their order
    try:
        ahead = collections.deque(executor.submit(next, items, None) for _ in range(_NUM_AHEAD))
        while (item := ahead.popleft().result()) is not None:
            ahead.append(executor.submit(next, items, None))
            yield item
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def log_uniform_sample(rng, num_samples, num_words):
    """Draws until there are enough distinct word ids: these, int32, and the number of draws.

    A draw gives word k with the probability log((k + 2) / (k + 1)) / log(num_words + 1). Reference:
    `LogUniformCandidateSampler` of TensorFlow, with `unique=True`.
    """
    drawn, room = np.zeros(0, np.int64), np.empty(num_words, np.int64)
    while True:
        uniform = rng.random(2 * num_samples)
        word_ids = np.expm1(uniform * np.log(num_words + 1)).astype(np.int64)
        drawn = np.concatenate([drawn, np.minimum(word_ids, num_words - 1)])
        first_draws = _first_places(drawn, room)[:num_samples]
        if len(first_draws) == num_samples:
            return drawn[first_draws].astype(np.int32), int(first_draws[-1]) + 1
