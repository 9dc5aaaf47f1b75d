"""`Corpus`: tokenised text files with a sentence a line, plain or gzip."""

import collections
import itertools
import os

import numpy as np

from keras_elmo.checks import check_choice, check_integers, join_names
from keras_elmo.files.atomic import replacing_file
from keras_elmo.files.records import PLAIN, Fields, decode_records, format_by_name
from keras_elmo.files.text_files import find_files, open_text, read_lines
from keras_elmo.process.signals import check_signals
from keras_elmo.text.reading import read_words
from keras_elmo.text.tokenizers import TOKENIZERS, get_tokenizer, tokenizer_code
from keras_elmo.training.vocabulary import SPECIALS, UNK, Vocabulary

_SHUFFLED_LINES = 100_000  # lines that are shuffled together, which bounds the memory
PROGRESS_LINES = 5_000  # lines between two calls of a progress function, which costs time


class Corpus:
    """Text files with a sentence a line, or FASTA; `*.gz` are gzip. Blank lines are skipped.

    Args:
        patterns: a path, a pattern such as `"text/*.gz"`, or a list of them.
        encoding: str. The encoding of the files.
        errors: `"strict"` or `"replace"`: what to do with bytes that cannot be decoded.
        tokenizer: how lines are split, a name; see `Elmo`. Of FASTA it must be `"characters"`.

    Raises:
        FileNotFoundError: a pattern matches no file.
        IsADirectoryError, ValueError: a path is a folder, or a pipe or a device.
    """

    def __init__(self, patterns, encoding="utf-8", errors="strict", tokenizer="whitespace"):
        check_choice(TOKENIZERS, tokenizer=tokenizer)
        self.files = find_files(patterns)
        self.encoding, self.errors, self.tokenizer = encoding, errors, tokenizer
        if tokenizer != "characters" and any(map(self._is_fasta, self.files)):
            raise ValueError(
                "The letters of FASTA must be tokens: `tokenizer=characters`. "
                f"Received: tokenizer={tokenizer}"
            )
        self._counts = None

    def _is_fasta(self, path):
        """Whether a file is FASTA, and not text in Persian, which may be called *.fa, too."""
        lines = filter(str.strip, read_lines(path, self.encoding, "replace"))
        return format_by_name(path) == "fasta" and next(lines, ">")[0] in ">;"

    def counts(self, progress=None):
        """The number of sentences and of tokens; every line is read and checked, once.

        `progress` is `None`, or a function of the number of bytes read since the last call.

        Raises:
            ValueError: there is no token in any file, or a line cannot be decoded.
        """
        if self._counts is None:
            self._count(progress=progress)
        return tuple(map(sum, zip(*self._counts, strict=True)))

    def file_counts(self):
        """The numbers of sentences and of tokens of each file: a list of pairs."""
        self.counts()
        return self._counts

    def oov_rate(self, vocabulary, progress=None):
        """The share of the tokens that a `Vocabulary` does not have; counts for `counts`, too."""
        return self._count(vocabulary.ids.keys() - {UNK}, progress) / self.counts()[1]

    def _count(self, known=frozenset(), progress=None):
        """Counts for `file_counts`. Returns how many tokens are not in the set `known`."""
        counts, num_unknown = [], 0
        for file in self.files:
            num_sentences = num_tokens = 0
            for sentence in self.read_file(file, progress):
                num_sentences, num_tokens = num_sentences + 1, num_tokens + len(sentence)
                num_unknown += len(sentence) - sum(map(known.__contains__, sentence))
                check_signals()
            counts.append((num_sentences, num_tokens))
        if not any(num_tokens for _, num_tokens in counts):
            raise _no_words(self.files)
        self._counts = counts
        return num_unknown

    def read_file(self, path, progress=None):
        """An iterator over the tokens of each line that is not blank; `progress` as in `counts`."""
        return self._split(self._read_lines(path, progress))

    def _split(self, lines):
        if self.tokenizer == "whitespace":  # Python is as fast as the graph.
            return filter(None, map(str.split, lines))
        return filter(None, read_words(lines, get_tokenizer(self.tokenizer)))

    def _read_lines(self, path, progress):
        bytes_read, space = 0, " " if self.tokenizer == "space" else None
        with open_text(path) as file:
            compressed = getattr(file, "fileobj", file)
            fields = Fields() if self._is_fasta(path) else PLAIN
            records = decode_records(file, path, self.encoding, self.errors, fields)
            for line_number, record in enumerate(records, start=1):
                if record.text.strip(space):
                    yield record.text
                if progress is not None and line_number % PROGRESS_LINES == 0:
                    before, bytes_read = bytes_read, compressed.tell()
                    progress(bytes_read - before)
        if progress is not None:
            progress(os.path.getsize(path) - bytes_read)

    def sentences(self):
        """All sentences in their order: lists of `str`."""
        return self.epoch(0)

    def epoch(self, epoch_index, seed=None):
        """The sentences of an epoch, in the order of the files; or in that of a seed, an int.

        With a seed, the files are shuffled, and the lines of each file, in blocks of 100,000.
        """
        file_order = range(len(self.files))
        if seed is not None:
            rng = np.random.default_rng([seed, epoch_index])
            file_order = rng.permutation(len(self.files)).tolist()
        for file_index in file_order:
            path = self.files[file_index]
            if seed is None:
                yield from self.read_file(path)
                continue
            rng = np.random.default_rng([seed, epoch_index, file_index])
            # Lines take an eighth of the memory of their tokens, and are faster to shuffle.
            lines = self._read_lines(path, None)
            while block := list(itertools.islice(lines, _SHUFFLED_LINES)):
                order = rng.permutation(len(block)).tolist()
                yield from self._split(map(block.__getitem__, order))


class Sentences(Corpus):
    """Sentences in memory, lists of `str`, with the methods of a `Corpus` of one file."""

    def __init__(self, sentences, tokenizer):
        self.files, self.encoding, self.errors = ["the sentences"], None, None
        self.tokenizer, self._counts = tokenizer, None
        self._sentences = sentences

    def _read_lines(self, path, progress):
        return filter(None, self._sentences)

    def _split(self, lines):
        return lines


def as_corpus(texts, tokenizer):
    """A `Corpus`, of itself, of paths or of text in any other form that a tokenizer splits."""
    if isinstance(texts, Corpus):
        return texts
    name = tokenizer_code(tokenizer).strip("'")
    paths = texts if isinstance(texts, list | tuple) else [texts]
    if isinstance(texts, str) or (paths and all(isinstance(path, os.PathLike) for path in paths)):
        return Corpus(texts, tokenizer=name)
    return Sentences(list(read_words(texts, tokenizer)), name)


def _no_words(files):
    return ValueError(f"The text must have words. Received: none in {join_names(files)}")


def check_texts(corpus, heldout, batch_size, unroll_steps):
    """Refuses a corpus without a window for each lane, and held-out text without a window."""
    for name, text, num_windows, windows in [
        ("corpus", corpus, batch_size, "`batch_size` windows"),
        ("held-out text", heldout, 1, "a window"),
    ]:
        size = num_windows * unroll_steps
        if text is not None and sum(text.counts()) < size:
            rule = f"The {name} must fill {windows} of `unroll_steps` tokens: {size:,} in all"
            raise ValueError(f"{rule}. Received: {sum(text.counts()):,}")


def build_vocabulary(corpus, path, min_count=1, size=None, progress=None):
    """Writes the vocabulary of a corpus: special words first, then words, the most frequent first.

    Words that occur equally often are in the order of their code points.

    Args:
        corpus: a `Corpus`.
        path: the file to write, in UTF-8. It is moved into place when it is complete.
        min_count: int. Words that are rarer are left out.
        size: int or `None`. The largest number of words, the three special ones included.
        progress: see `Corpus.counts`.

    Returns:
        A pair: the number of words written, and the share of the corpus's tokens among them, float.

    Raises:
        ValueError: there is no word in the corpus, or an argument is out of range.
    """
    check_integers(1, min_count=min_count)
    if size is not None:
        check_integers(len(SPECIALS) + 1, size=size)
    if any(os.path.exists(path) and os.path.samefile(path, file) for file in corpus.files):
        raise ValueError(f"The vocabulary must be written to a file of its own. Received: {path}")
    # A missing folder is an error here, before the words are counted.
    with replacing_file(path) as temporary:
        counts = collections.Counter()
        for file in corpus.files:
            for sentence in corpus.read_file(file, progress):
                counts.update(sentence)
                check_signals()
        if not counts:
            raise _no_words(corpus.files)
        words = [word for word in counts.keys() - SPECIALS if counts[word] >= min_count]
        words.sort(key=lambda word: (-counts[word], word))
        if size is not None:
            del words[size - len(SPECIALS) :]
        Vocabulary((*SPECIALS, *words)).save(temporary)
    num_known = sum(counts[word] for word in words)
    return len(words) + len(SPECIALS), num_known / sum(counts.values())
