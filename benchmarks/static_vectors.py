"""`StaticVectors`: one vector for each word of a text, a baseline beside the layers of a biLM."""

import collections
import functools
import pathlib

import numpy as np
import scipy.sparse
from sklearn.utils.extmath import randomized_svd


class StaticVectors:
    """Vectors of words from how often they stand near each other in a text.

    The counts of near pairs become positive pointwise mutual information, of which a truncated
    singular value decomposition keeps `dim` numbers for each word. The text is read when the
    attribute `table` is first read.

    Args:
        file: path of a text, one sentence a line, its tokens separated by spaces.
        dim: int. The size of a vector; the number of words where that is less.
        window: int. Words stand near each other where their distance is at most this. A pair of the
            distance k counts 1 / k.
        min_count: int. A word that occurs less often has no vector of its own.

    Reference: Levy, Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons
    Learned from Word Embeddings": smoothed contexts, and square roots of the singular values.
    """

    def __init__(self, file, dim=256, window=5, min_count=5):
        self.file = pathlib.Path(file)
        self.dim, self.window, self.min_count = dim, window, min_count

    @property
    def name(self):
        """Says which text it is."""
        size = self.file.stat().st_size / 1e6
        return f"static vectors of {self.file.name} ({size:.1f} MB)"

    @functools.cached_property
    def table(self):
        """The row of each word that has one, and float32, (words + 1, dim).

        The last row is for words without a vector: the mean of all.
        """
        lines = self.file.read_text(encoding="utf-8").split("\n")
        counts = collections.Counter(word for line in lines for word in _split(line))
        words = [word for word, count in counts.most_common() if count >= self.min_count]
        row_of = {word: k for k, word in enumerate(words)}
        rows = [_find_rows(row_of, _split(line)) for line in lines]
        information = positive_mutual_information(count_pairs(rows, len(words), self.window))
        left, values, _ = randomized_svd(information, self.dim, random_state=0)
        vectors = left * np.sqrt(values)  # (words, dim)
        mean = vectors.mean(axis=0)
        vectors[information.getnnz(axis=1) == 0] = mean  # words that are near no other
        return row_of, np.vstack([vectors, mean]).astype(np.float32)


def _split(line):
    """The tokens of a sentence. No-break spaces and the like are parts of tokens."""
    return [word for word in line.split(" ") if word]


def _find_rows(row_of, words):
    """The row of each word: its own, that of its lower-case form, or -1."""
    find = row_of.get
    return [find(word, find(word.lower(), -1)) for word in words]


def count_pairs(sentences, num_words, window):
    """How often each word stands near each other word.

    Args:
        sentences: lists of rows, from -1, which is a word without a row.
        num_words: int.
        window: int. The largest distance of a pair, which counts 1 / distance.

    Returns:
        Sparse float32, (num_words, num_words).
    """
    gap = [-1] * window  # No pair reaches over the end of a sentence.
    rows = np.array([row for sentence in sentences for row in [*sentence, *gap]], np.int32)
    shape = (num_words, num_words)
    pairs = scipy.sparse.csr_matrix(shape, dtype=np.float32)
    for distance in range(1, window + 1):
        first, second = rows[:-distance], rows[distance:]
        both = (first >= 0) & (second >= 0)
        weights = np.full(both.sum(), 1 / distance, np.float32)
        pairs += scipy.sparse.csr_matrix((weights, (first[both], second[both])), shape)
    return pairs + pairs.T


def positive_mutual_information(pairs, smoothing=0.75):
    """max(0, log(p(word, context) / (p(word) p'(context)))), where p' ~ count ** smoothing.

    Args:
        pairs: sparse floats, (words, contexts). How often each pair was counted.

    Returns:
        The same form.
    """
    pairs = pairs.tocoo()
    of_words = np.asarray(pairs.sum(axis=1)).ravel()
    of_contexts = np.asarray(pairs.sum(axis=0)).ravel() ** smoothing
    expected = of_words[pairs.row] * of_contexts[pairs.col] / of_contexts.sum()
    values = np.maximum(0, np.log(pairs.data / expected))
    result = scipy.sparse.csr_matrix((values, (pairs.row, pairs.col)), pairs.shape)
    result.eliminate_zeros()
    return result
