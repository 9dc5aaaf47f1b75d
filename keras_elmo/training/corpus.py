"""`Corpus`: text files with a sentence a line, tokenised, plain or gzip."""

import collections
import glob
import itertools
import os
import warnings

import numpy as np

from keras_elmo.files import open_text

_SHUFFLED = 100_000  # lines that are shuffled together: bounds the memory
_PROGRESS_LINES = 5_000  # lines between two calls of a progress function
_LONG_LINE = 10_000  # tokens, beyond which a line is hardly a sentence


class Corpus:
    """Text files with a sentence a line, its tokens separated by whitespace; `*.gz` are gzip.

    Blank lines are passed over.

    Args:
        patterns: a path, a pattern such as `"text/*.gz"`, or a list of them.

    Raises:
        FileNotFoundError: a pattern matches no file.
        IsADirectoryError: a path is a folder.
        ValueError: a path is a pipe, or another thing that can be read once only.
    """

    def __init__(self, patterns):
        if isinstance(patterns, str | os.PathLike):
            patterns = [patterns]
        self.files = []
        for pattern in map(os.fspath, patterns):
            found = [pattern] if os.path.exists(pattern) else sorted(glob.glob(pattern))
            if not found:
                raise FileNotFoundError(f"There is no file {pattern}")
            self.files += found
        for file in self.files:
            if os.path.isdir(file):
                raise IsADirectoryError(f"A corpus is made of files. Received: the folder {file}")
            if not os.path.isfile(file):
                raise ValueError(
                    "A corpus is read several times, and so must be made of files. Received: the "
                    f"pipe or device {file}; write what comes from it to a file"
                )
        self.files = list(dict.fromkeys(self.files))
        if not self.files:
            raise FileNotFoundError("A corpus needs a file. Received: none")
        self._counts = None

    def counts(self, progress=None):
        """The number of sentences and of tokens; every line is read and checked, once.

        Args:
            progress: `None`, or a function that is called with the number of bytes of the files
                that were read since the last call.

        Raises:
            ValueError: there is no token in any file, or a line is no UTF-8.
        """
        if self._counts is None:
            self._count(progress=progress)
        sentences, tokens = zip(*self._counts, strict=True)
        return sum(sentences), sum(tokens)

    def file_counts(self):
        """The same of each file: a list of pairs."""
        self.counts()
        return self._counts

    def unknown_share(self, vocabulary, progress=None):
        """The share of the tokens that a vocabulary does not have; the rest is counted with it.

        Args:
            vocabulary: a `Vocabulary`.
            progress: see `counts`.

        Returns:
            A float from 0 to 1.

        Raises:
            ValueError: see `counts`.
        """
        known = set(vocabulary.words) - {vocabulary.words[vocabulary.unknown]}
        unknown = self._count(known, progress)
        return unknown / self.counts()[1]

    def _count(self, known=frozenset(), progress=None):
        """Reads all files for `file_counts`; how many tokens are not in the set `known`."""
        counts, unknown = [], 0
        for file in self.files:
            sentences = tokens = 0
            for number, sentence in _read(file, progress):
                sentences, tokens = sentences + 1, tokens + len(sentence)
                unknown += len(sentence) - sum(map(known.__contains__, sentence))
                if len(sentence) > _LONG_LINE:
                    warnings.warn(
                        f"{file}, line {number}: {len(sentence):,} tokens; is there a sentence "
                        "a line?",
                        stacklevel=3,
                    )
            counts.append((sentences, tokens))
        if not any(tokens for _, tokens in counts):
            raise ValueError(f"There is no word in {_names(self.files)}")
        self._counts = counts
        return unknown

    def sentences(self):
        """All sentences in their order: lists of `str`."""
        return self.epoch(0)

    def epoch(self, number, seed=None, shard=0, num_shards=1):
        """The sentences of an epoch.

        With a seed, in another order for each epoch: files are shuffled, and the lines of each, in
        blocks of 100,000. Of several shards each has files of its own, or if there are fewer files
        than shards, every n-th line.

        Args:
            number: int, from 0.
            seed: int; or `None`: in the order of the files.
            shard: int, from 0.
            num_shards: int.
        """
        order = range(len(self.files))
        if seed is not None:
            order = np.random.default_rng([seed, number]).permutation(len(self.files)).tolist()
        by_file = len(self.files) >= num_shards
        line = itertools.count()
        for place, index in enumerate(order):
            if by_file and place % num_shards != shard:
                continue
            sentences = (
                sentence
                for _, sentence in _read(self.files[index])
                if by_file or next(line) % num_shards == shard
            )
            if seed is None:
                yield from sentences
                continue
            rng = np.random.default_rng([seed, number, index])
            while block := list(itertools.islice(sentences, _SHUFFLED)):
                yield from (block[k] for k in rng.permutation(len(block)).tolist())


def count_words(corpus, progress=None):
    """How often each word is there: a `collections.Counter` of `str`.

    Args:
        corpus: a `Corpus`.
        progress: see `Corpus.counts`.
    """
    counts = collections.Counter()
    for file in corpus.files:
        for _, sentence in _read(file, progress):
            counts.update(sentence)
    return counts


def _read(path, progress=None):
    """The number of each line that is not blank, and its tokens."""
    number = read = 0
    try:
        with open_text(path) as file:
            compressed = getattr(file, "fileobj", file)
            for number, line in enumerate(file, start=1):
                if number == 1:
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if tokens := line.decode().split():
                    yield number, tokens
                if progress is not None and number % _PROGRESS_LINES == 0:
                    before, read = read, compressed.tell()
                    progress(read - before)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {number} must be UTF-8. Received: {error.object[error.start :][:10]!r} "
            f"at byte {error.start} of it. Convert the file first, as with "
            "`iconv -f latin1 -t utf-8`"
        ) from None
    if progress is not None:
        progress(os.path.getsize(path) - read)


def _names(files):
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(files[:3]) + more
