"""The occurrences of words in a text, and their vectors."""

import dataclasses

import numpy as np

from keras_elmo import text
from keras_elmo.checks import check_integers, printable, short_repr
from keras_elmo.models.embed_stream import unit_vectors
from keras_elmo.text.reading import read_words

ROWS_PER_PRODUCT = 1024  # bounds the memory of the cosines: rows of the matrix at a time
_CONTEXT_TOKENS = 8  # on each side of a token, where its context is shown


@dataclasses.dataclass
class Occurrences:
    """Occurrences of words in a text. The lists of ints have one item for each occurrence."""

    sentences: list  # of the tokens of each sentence with an occurrence, lists of strings
    sentence_index: list  # in `sentences`
    token_index: list  # in the sentence
    line_numbers: list  # of the sentence in the text, from 1
    vectors: np.ndarray  # float32, (num_layers + 1, occurrences, D)

    def __len__(self):
        return len(self.token_index)

    def __repr__(self):
        where = f"in {len(self.sentences):,} sentences, vectors of shape {np.shape(self.vectors)}"
        return f"<Occurrences: {len(self):,} {where}>"

    def context(self, occurrence):
        """The tokens before an occurrence (a list), its token, and the tokens after it (a list)."""
        sentence = self.sentences[self.sentence_index[occurrence]]
        index = self.token_index[occurrence]
        return sentence[:index], sentence[index], sentence[index + 1 :]

    def short_context(self, occurrence):
        """An occurrence in brackets between the tokens beside it: a string of one line."""
        before, token, after = self.context(occurrence)
        tokens = [*before[-_CONTEXT_TOKENS:], f"[{token}]", *after[:_CONTEXT_TOKENS]]
        return printable(" ".join(tokens))

    def nearest(self, layer, count=1):
        """The `count` nearest other occurrences of each, by the cosine of their vectors in a layer.

        Returns a pair of arrays, (occurrences, count): the numbers of the neighbours, nearest
        first (of equally near ones, in the order of the text), and their cosines.
        """
        check_integers(1, count=count)
        if len(self) < 2:
            received = f"{len(self)} in this text"
            raise ValueError(f"There must be at least two occurrences. Received: {received}")
        count = min(count, len(self) - 1)
        vectors = unit_vectors(self.vectors[layer])
        neighbours, nearest_cosines = [], []
        for start in range(0, len(self), ROWS_PER_PRODUCT):
            cosines = vectors[start : start + ROWS_PER_PRODUCT] @ vectors.T
            rows = np.arange(len(cosines))
            cosines[rows, start + rows] = -np.inf  # an occurrence is not a neighbour of its own
            order = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
            neighbours.append(order)
            nearest_cosines.append(np.take_along_axis(cosines, order, axis=1))
        return np.concatenate(neighbours), np.concatenate(nearest_cosines)


def check_labels(labels, count):
    """Raises a `ValueError` if there are labels, and not one for each of `count` occurrences."""
    if labels is not None and len(labels) != count:
        raise ValueError(
            "There must be one label for each occurrence. "
            f"Received: {len(labels):,} labels for {count:,} occurrences"
        )


def find_occurrences(elmo, sentences, words=None, ignore_case=False, limit=None, progress=False):
    """Finds words in a text, and computes their vectors.

    Args:
        elmo: an `Elmo`.
        sentences: iterable of sentences: raw strings, which the model's tokenizer splits, or lists
            of tokens.
        words: a string or an iterable of strings. Which tokens to find. `None`: every token.
        ignore_case: bool. Find *Bank* for *bank*, too.
        limit: int or `None`. Stop reading after so many occurrences.
        progress: bool. Show a progress bar on standard error.

    Returns:
        An `Occurrences`, whose `vectors` are float32, (num_layers + 1, occurrences, D).

    Raises:
        ValueError: one of the words does not occur, or there are no tokens at all.

    Example:

    >>> sentences = ["He sat on the bank .", "The bank lent money .", "No word ."]
    >>> bank = find_occurrences(elmo, sentences, "bank")
    >>> len(bank), bank.context(1)
    (2, (['The'], 'bank', ['lent', 'money', '.']))
    """
    words = [words] if isinstance(words, str) else words
    fold = str.casefold if ignore_case else str
    wanted = None if words is None else {fold(word) for word in words}
    if limit is not None:
        check_integers(1, limit=limit)
    found = Occurrences([], [], [], [], None)
    missed = set()  # words that occur in some case
    is_cut = False
    tokenized = read_words(sentences, elmo.tokenizer, elmo.max_tokens)
    for line_number, tokens in enumerate(tokenized, start=1):
        indices = [k for k, token in enumerate(tokens) if wanted is None or fold(token) in wanted]
        if wanted is not None:
            missed.update(map(str.casefold, tokens))
        if limit is not None and len(found) + len(indices) >= limit:
            indices, is_cut = indices[: limit - len(found)], True
        if indices:
            found.sentence_index += [len(found.sentences)] * len(indices)
            found.token_index += indices
            found.line_numbers += [line_number] * len(indices)
            found.sentences.append(tokens)
        if is_cut:
            break
    if not is_cut:
        _check_found(found, wanted, missed, fold)
    # As a tensor, the tokens are not checked for whitespace once more.
    tokens = text.strings(found.sentences)
    stream = elmo.embed_stream(tokens, layers="all", progress=progress)
    ends = np.cumsum(np.bincount(found.sentence_index))
    indices = np.split(found.token_index, ends[:-1])  # of each sentence
    rows = [layers[:, index] for layers, index in zip(stream, indices, strict=True)]
    found.vectors = np.concatenate(rows, axis=1)
    return found


def _check_found(found, wanted, missed, fold):
    """Raises an error if there are no occurrences, or none of one of the words."""
    if absent := set(wanted or ()) - {fold(found.context(k)[1]) for k in range(len(found))}:
        word = min(absent)
        reason = "does not occur; look how the tokenizer splits the text"
        if word.casefold() in missed:
            reason = "occurs in another case only; `ignore_case=True` finds it"
        elif len(word.split()) != 1:
            reason = "is not one token"
        raise ValueError(
            f"The text must hold the word as a token. Received: {short_repr(word)} {reason}"
        )
    if not len(found):
        raise ValueError("The text must hold tokens. Received: a text without any")
