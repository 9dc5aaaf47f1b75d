"""`Stream`: a corpus in lanes, packed into windows, as a `tf.data.Dataset`."""

import itertools

import numpy as np
import tensorflow as tf

from keras_elmo import characters

_BEGIN, _END = 0, 1  # places of the boundaries among what `read_windows` reads


class Stream:
    """Windows of a corpus for truncated back-propagation.

    Each of `batch_size` lanes reads sentence after sentence, `<S>` first and predicting up to
    `</S>`. A window is the next `unroll_steps` of every lane; a lane whose sentence ends in it goes
    on with the next of the corpus, the first lane first, as in the original. So a sentence begins
    in the place where the one before it ended, goes on in the next window of its lane, and none
    comes between. The backward direction reads the same sentences of the lane from their ends.

    A batch is a dict: `"step"`, its number, int64; `"words"`, `"inputs"` and, where lanes end,
    `"mask"`, as `BiLanguageModel.read_windows` takes them; `"targets"`, int32, like the inputs, the
    numbers of the next words; `"begins"`, bool, (batch,), whether a lane's window begins with a
    sentence; and with samples `"negatives"`, int32, (2, num_negatives), and `"tries"`, int32, (2,),
    see `Softmax.loss`.

    Args:
        vocabulary: a `Vocabulary`.
        batch_size: int. Lanes.
        unroll_steps: int. Tokens of a window.
        num_negatives: int, or 0 for none. Samples of each direction for the sampled softmax.
        seed: int. Of the samples.
    """

    def __init__(self, vocabulary, batch_size, unroll_steps, num_negatives=0, seed=0):
        self.vocabulary = vocabulary
        self.batch_size = batch_size
        self.unroll_steps = unroll_steps
        self.num_negatives = num_negatives
        self.seed = seed
        ids = vocabulary.ids
        self._ids = {**ids, _BEGIN: vocabulary.begin, _END: vocabulary.end}

    def training(self, corpus, seed=None, shard=0, num_shards=1, start=0):
        """Endless batches of full windows, epoch after epoch, as a `tf.data.Dataset`.

        Args:
            corpus: a `Corpus`.
            seed: int, of the order of sentences; or `None`: as they are in the files.
            shard: int. Which part of the corpus it reads, of `num_shards`.
            num_shards: int.
            start: int. Batches that are passed over, to go on where a run ended.
        """

        def generate():
            def sentences():
                for epoch in itertools.count():
                    sentence = None
                    for sentence in corpus.epoch(epoch, seed, shard, num_shards):
                        yield sentence
                    if sentence is None:
                        raise ValueError(
                            f"Each of {num_shards} replicas must have sentences to read, and "
                            f"number {shard} has none; give more files, or one file"
                        )

            for step, lanes in enumerate(self._windows(sentences())):
                if step >= start:
                    yield self._batch(lanes, step, shard)

        return self._dataset(generate)

    def evaluation(self, sentences):
        """Every sentence once, in their order; lanes that have ended are masked.

        Args:
            sentences: iterable of lists of `str`.
        """

        def generate():
            for step, lanes in enumerate(self._windows(sentences)):
                yield self._batch(lanes, step, 0, is_masked=True)

        return self._dataset(generate, is_masked=True)

    def _windows(self, sentences):
        """For each window and lane `[(sentence with boundaries, start, end), ...]`."""
        sentences = iter(sentences)
        streams = [None] * self.batch_size  # of each lane the sentence, and its next place
        while True:
            window = []
            for lane in range(self.batch_size):
                room, pieces = self.unroll_steps, []
                while room:
                    if streams[lane] is None:
                        sentence = next(sentences, None)
                        if sentence is None:
                            break
                        streams[lane] = ([_BEGIN, *sentence, _END], 0)
                    sentence, place = streams[lane]
                    end = min(place + room, len(sentence) - 1)
                    pieces.append((sentence, place, end))
                    room -= end - place
                    streams[lane] = (sentence, end) if end < len(sentence) - 1 else None
                window.append(pieces)
            if not any(window):
                return
            yield window

    def _batch(self, window, step, shard, is_masked=False):
        places = {_BEGIN: _BEGIN, _END: _END}
        unknown = self.vocabulary.unknown
        shape = (2, self.batch_size, self.unroll_steps)
        inputs, targets = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        mask = np.zeros(shape[1:], bool)
        for lane, pieces in enumerate(window):
            column = 0
            for sentence, start, end in pieces:
                here = slice(column, column + end - start)
                read = sentence[start : end + 1]
                last = len(sentence) - 1
                reverse = sentence[last - end : last - start + 1][::-1]
                for direction, words in enumerate((read, reverse)):
                    inputs[direction, lane, here] = [
                        places.setdefault(word, len(places)) for word in words[:-1]
                    ]
                    targets[direction, lane, here] = [
                        self._ids.get(word, unknown) for word in words[1:]
                    ]
                mask[lane, here] = True
                column = here.stop
        words = [characters.text_to_bytes(word) for word in places if not isinstance(word, int)]
        # The shortest first, see `CharCNNEmbedding`.
        order = sorted(range(len(words)), key=lambda k: len(words[k]))
        moved = np.arange(len(places), dtype=np.int32)
        moved[np.array(order, np.int32) + 2] = moved[2:].copy()
        batch = {
            "step": np.int64(step),
            "words": np.array([words[k] for k in order], object),
            "begins": np.array([bool(pieces) and pieces[0][1] == 0 for pieces in window]),
            "inputs": moved[inputs],
            "targets": targets,
        }
        if is_masked:
            batch["mask"] = mask
        if self.num_negatives:
            rng = np.random.default_rng([self.seed, shard, step])
            drawn = [
                log_uniform_sample(rng, self.num_negatives, len(self.vocabulary)) for _ in range(2)
            ]
            batch["negatives"], batch["tries"] = (
                np.array(column, np.int32) for column in zip(*drawn, strict=True)
            )
        return batch

    def _dataset(self, generate, is_masked=False):
        shape = (2, self.batch_size, self.unroll_steps)
        specs = {
            "step": tf.TensorSpec((), tf.int64),
            "words": tf.TensorSpec((None,), tf.string),
            "begins": tf.TensorSpec(shape[1:2], tf.bool),
            "inputs": tf.TensorSpec(shape, tf.int32),
            "targets": tf.TensorSpec(shape, tf.int32),
        }
        if is_masked:
            specs["mask"] = tf.TensorSpec(shape[1:], tf.bool)
        if self.num_negatives:
            specs["negatives"] = tf.TensorSpec((2, self.num_negatives), tf.int32)
            specs["tries"] = tf.TensorSpec((2,), tf.int32)
        return _from_generator(generate, specs)


def _from_generator(generate, specs):
    """A dataset of what a generator yields: dicts, as `specs` says.

    As `tf.data.Dataset.from_generator`, which sets the process's malloc so that every large tensor
    takes new pages from the system (TensorFlow 2.21): a training step was 10 % slower.
    """
    names = list(specs)
    blank = [
        np.zeros([size or 0 for size in s.shape], s.dtype.as_numpy_dtype) for s in specs.values()
    ]
    # Each iterator of the dataset has a generator of its own, by the number that it carries along.
    generators, numbers = {}, itertools.count()

    def read(number):
        if number < 0:  # an iterator begins
            number = np.int64(next(numbers))
            generators[int(number)] = generate()
        batch = next(generators[int(number)], None)
        if batch is None:
            generators[int(number)] = iter(())  # its memory goes
        values = blank if batch is None else [batch[name] for name in names]
        return [number, np.array(batch is not None), *values]

    def load(number, _):
        dtypes = [tf.int64, tf.bool, *(spec.dtype for spec in specs.values())]
        number, is_there, *values = tf.numpy_function(read, [number], dtypes)
        number.set_shape(())
        is_there.set_shape(())
        for value, spec in zip(values, specs.values(), strict=True):
            value.set_shape(spec.shape)
        return number, (is_there, dict(zip(names, values, strict=True)))

    dataset = tf.data.Dataset.counter().scan(tf.constant(-1, tf.int64), load)
    dataset = dataset.take_while(lambda is_there, _: is_there).map(lambda _, batch: batch)
    return dataset.prefetch(4)


def log_uniform_sample(rng, number, num_words):
    """Distinct words; that of word k has the chance log((k + 2) / (k + 1)) / log(num_words + 1).

    Args:
        rng: a NumPy `Generator`.
        number: int, at most `num_words`.
        num_words: int.

    Returns:
        int32, (number,), and the int number of draws that it took.

    Reference: `LogUniformCandidateSampler` of TensorFlow, with `unique=True`.
    """
    drawn = np.zeros(0, np.int64)
    while True:
        chances = rng.random(2 * number)
        words = np.expm1(chances * np.log(num_words + 1)).astype(np.int64)
        drawn = np.concatenate([drawn, np.minimum(words, num_words - 1)])
        distinct, first = np.unique(drawn, return_index=True)
        if len(distinct) >= number:
            first = np.sort(first)[:number]
            return drawn[first].astype(np.int32), int(first[-1]) + 1
