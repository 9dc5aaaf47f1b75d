"""`Stream`: a corpus dealt out to lanes and cut into windows, and a thread that reads ahead."""

import collections
import concurrent.futures
import itertools

import numpy as np
import tensorflow as tf

from keras_elmo import characters

_NUM_AHEAD = 4  # batches: enough that a slow one (a new file) delays no training step
# The indices of `<S>` and `</S>` among the words that `BiLanguageModel.read_windows` reads. They
# also stand for the boundaries in lists of tokens, where no `str` can be mistaken for them.
_BEGIN, _END = 0, 1


class Stream:
    """Windows of a corpus for truncated back-propagation.

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
        starts_sentence         [True, True]            [True, False]

    A dot means that the lane has ended: only in evaluation, which masks it.

    A batch is a dict of NumPy arrays:

    - `"step"`: int64, (). The index of the window.
    - `"words"` (objects, of `bytes`), `"inputs"` and, in evaluation, `"mask"`: see
      `BiLanguageModel.read_windows`.
    - `"targets"`: int32, (2, batch, tokens), like the inputs. The ids of the target words.
    - `"starts_sentence"`: bool, (batch,). Whether a lane's window starts with a sentence.
    - `"negatives"`: int32, (2, num_negatives), and `"num_draws"`: int32, (2,). The samples of each
      direction, see `Softmax.loss`, unless `num_negatives` is 0.

    Args:
        vocabulary: a `Vocabulary`.
        batch_size: int. The number of lanes.
        unroll_steps: int. The number of tokens in a window of a lane.
        num_negatives: int. The number of samples of each direction, or 0.
        sample_seed: int. The seed of the samples.
    """

    def __init__(self, vocabulary, batch_size, unroll_steps, num_negatives=0, sample_seed=0):
        self.vocabulary = vocabulary
        self.batch_size = batch_size
        self.unroll_steps = unroll_steps
        self.num_negatives = num_negatives
        self.sample_seed = sample_seed
        self._ids = {**vocabulary.ids, _BEGIN: vocabulary.begin, _END: vocabulary.end}

    def training_batches(self, corpus, order_seed=None, start=0):
        """Yields endless batches of full windows, epoch after epoch.

        Args:
            corpus: a `Corpus`.
            order_seed: int, the seed of the order of sentences; or `None`: that of the files.
            start: int. The number of batches that are skipped, as a resumed run has seen them.
        """

        def sentences():
            for number in itertools.count():
                sentence = None
                for sentence in corpus.epoch(number, order_seed):
                    yield sentence
                if sentence is None:
                    raise ValueError(
                        f"Each epoch must have sentences. Received: none in epoch {number}"
                    )

        windows = enumerate(self._windows(sentences()))
        for step, window in itertools.islice(windows, start, None):
            yield self._make_batch(window, step)

    def evaluation_batches(self, sentences):
        """Yields batches with every sentence (list of `str`) once; lanes that ended are masked."""
        for step, window in enumerate(self._windows(sentences)):
            lengths = [sum(end - start for _, start, end in pieces) for pieces in window]
            mask = np.arange(self.unroll_steps) < np.array(lengths)[:, None]
            yield {**self._make_batch(window, step), "mask": mask}

    def training_specs(self):
        """The `tf.TensorSpec` of each entry of a batch of `training_batches`, as a dict."""
        batch = self._make_batch([[]] * self.batch_size, 0)
        specs = {name: tf.TensorSpec.from_tensor(tf.constant(batch[name])) for name in batch}
        return {**specs, "words": tf.TensorSpec((None,), tf.string)}

    def _windows(self, sentences):
        """Yields windows: for each lane `[(sentence with boundaries, start, end), ...]`.

        The lane reads the tokens from `start` to `end - 1`, and predicts the next one of each.
        """
        sentences = iter(sentences)
        unfinished = [None] * self.batch_size  # the sentence of each lane, and its next token
        while True:
            window = []
            for lane in range(self.batch_size):
                room, pieces = self.unroll_steps, []
                while room:
                    if unfinished[lane] is None:
                        sentence = next(sentences, None)
                        if sentence is None:
                            break
                        unfinished[lane] = ([_BEGIN, *sentence, _END], 0)
                    sentence, start = unfinished[lane]
                    last = len(sentence) - 1
                    end = min(start + room, last)
                    pieces.append((sentence, start, end))
                    room -= end - start
                    unfinished[lane] = (sentence, end) if end < last else None
                window.append(pieces)
            if not any(window):
                return
            yield window

    def _make_batch(self, window, step):
        shape = (2, self.batch_size, self.unroll_steps)
        inputs, targets = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        read = []  # where the inputs are, and their tokens
        for lane, pieces in enumerate(window):
            column = 0
            for sentence, start, end in pieces:
                columns = slice(column, column + end - start)
                last = len(sentence) - 1
                forward = sentence[start : end + 1]
                backward = sentence[last - end : last - start + 1][::-1]
                for direction, tokens in enumerate((forward, backward)):
                    read.append(((direction, lane, columns), tokens[:-1]))
                    targets[direction, lane, columns] = [
                        self._ids.get(token, self.vocabulary.unknown) for token in tokens[1:]
                    ]
                column = columns.stop
        # The shortest words come first, see `CharCNNEmbedding`.
        words = dict.fromkeys(token for _, tokens in read for token in tokens)
        words = {word: characters.text_to_bytes(word) for word in words if isinstance(word, str)}
        words = dict(sorted(words.items(), key=lambda pair: len(pair[1])))
        indices = {word: index for index, word in enumerate((_BEGIN, _END, *words))}
        for place, tokens in read:
            inputs[place] = [indices[token] for token in tokens]
        batch = {
            "step": np.array(step, np.int64),
            "words": np.array(list(words.values()), object),
            "starts_sentence": np.array([bool(pieces) and pieces[0][1] == 0 for pieces in window]),
            "inputs": inputs,
            "targets": targets,
        }
        if self.num_negatives:
            rng = np.random.default_rng([self.sample_seed, step])
            samples = [
                log_uniform_sample(rng, self.num_negatives, len(self.vocabulary)) for _ in range(2)
            ]
            batch["negatives"] = np.stack([negatives for negatives, _ in samples])
            batch["num_draws"] = np.array([num_draws for _, num_draws in samples], np.int32)
        return batch


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
    drawn = np.zeros(0, np.int64)
    while True:
        uniform = rng.random(2 * num_samples)
        word_ids = np.expm1(uniform * np.log(num_words + 1)).astype(np.int64)
        drawn = np.concatenate([drawn, np.minimum(word_ids, num_words - 1)])
        distinct, first_draws = np.unique(drawn, return_index=True)
        if len(distinct) >= num_samples:
            first_draws = np.sort(first_draws)[:num_samples]
            return drawn[first_draws].astype(np.int32), int(first_draws[-1]) + 1
