"""Many sentences as a user hands them over: read ahead a little, and tokenised together."""

import itertools

import numpy as np
import tensorflow as tf

from keras_elmo import text
from keras_elmo.characters import text_to_bytes
from keras_elmo.checks import short_repr
from keras_elmo.text.inputs import not_text, warn_of_long_words, without_padding

# Enough rows for matrix products near the machine's peak, if sentences are of usual length.
TOKEN_BUDGET = 4096
# Few long sentences are few rows, and products of few rows wait for the weights to be read. A batch
# therefore grows to MIN_ROWS sentences, but never beyond MAX_TOKENS tokens, which bound its memory.
# `benchmarks/corpora.py` measures both.
MIN_ROWS = 24
MAX_TOKENS = 6 * TOKEN_BUDGET
READ_AHEAD = 256  # sentences that are tokenised together: enough to hide the cost of a call
_GROUP_BATCHES = 4  # batches whose sentences are sorted together: enough to be of like length
_RULE = "Each sentence must be a string or a list of strings."


def tokenize(tokenizer, sentences, max_tokens=None):
    """Like `ContextualModel.tokenize`, but an iterator, which reads a few sentences ahead."""
    for tokens in read_tokens(tokenizer, as_sentences(tokenizer, sentences), max_tokens):
        yield [token.decode("utf-8", "surrogateescape") for token in tokens]


class Tokens(list):
    """Sentences that are known to be tokens, as lists of bytes: they are not checked again."""


def as_sentences(tokenizer, sentences):
    """Sentences as an iterable, each a string or a list of strings, or a `TypeError`."""
    if isinstance(sentences, str | bytes):
        raise TypeError(
            "`sentences` must be a list of sentences; for one, pass [sentence]. "
            f"Received: {short_repr(sentences)}"
        )
    if hasattr(sentences, "__array__") or tf.is_tensor(sentences):
        # Arrays and tensors mean what they mean in a call.
        return Tokens(text.to_tokens(text.strings_for(sentences, tokenizer), tokenizer).to_list())
    if isinstance(sentences, dict | tf.data.Dataset) or not hasattr(sentences, "__iter__"):
        raise TypeError(
            "`sentences` must be a list, an array or another iterable of sentences (a "
            "tf.data.Dataset is read in batches: use `predict`, or pass "
            "`dataset.unbatch().as_numpy_iterator()`). "
            f"Received: {type(sentences).__name__}"
        )
    return sentences


def token_batches(tokenizer, sentences, token_budget):
    """Sentences in their order, in batches: each a RaggedTensor of tokens, (batch, None)."""
    tokens = read_tokens(tokenizer, as_sentences(tokenizer, sentences))
    for group in within_budget(tokens, num_tokens, token_budget):
        yield text.strings(group)


def groups(sentences, token_budget):
    """Lists of bytes in their order, in lists of a few batches, which `batches` sorts by length."""
    is_adaptive = token_budget is None
    budget = _GROUP_BATCHES * (TOKEN_BUDGET if is_adaptive else token_budget)
    return within_budget(sentences, num_tokens, budget, is_adaptive)


def batches(group, token_budget):
    """The places of a group's sentences, in lists for each batch, the longest sentences first."""

    def size_of(row):
        return num_tokens(group[row])

    rows = sorted(range(len(group)), key=lambda row: -len(group[row]))
    if token_budget is not None:
        return list(within_budget(rows, size_of, token_budget))
    result = list(within_budget(rows, size_of, TOKEN_BUDGET, is_adaptive=True))
    if len(result) > 1 and len(result[-1]) < MIN_ROWS:  # the rest is too small by itself
        last = result[-2] + result[-1]
        if sum(map(size_of, last)) <= MAX_TOKENS:
            result[-2:] = [last]
    return result


def within_budget(items, size_of, budget, is_adaptive=False):
    """Items in their order, in lists whose sizes add up to at most `budget`.

    A larger item is a list by itself. If `is_adaptive`, lists of fewer than `MIN_ROWS` items grow
    up to the size `MAX_TOKENS`.
    """
    group, total = [], 0
    for item in items:
        size = size_of(item)
        limit = MAX_TOKENS if is_adaptive and len(group) < MIN_ROWS else budget
        if group and total + size > limit:
            yield group
            group, total = [], 0
        group.append(item)
        total += size
    if group:
        yield group


def num_tokens(sentence):
    """The size of a sentence in a budget of tokens, with its two boundaries."""
    return len(sentence) + 2


def read_tokens(tokenizer, sentences, max_tokens=None):
    """The first `max_tokens` tokens (or all) of each sentence, lists of bytes."""
    is_checked, may_refuse, has_warned = isinstance(sentences, Tokens), True, False
    sentences, first = iter(sentences), 0
    while ahead := list(itertools.islice(sentences, READ_AHEAD)):
        ahead = [as_python(sentence, row) for row, sentence in enumerate(ahead, first)]
        has_warned = has_warned or warn_of_long_words(ahead, tokenizer)
        tokenized = _tokenize(tokenizer, ahead, first)
        first += len(ahead)
        if not is_checked:
            rows = [row for row, s in zip(tokenized, ahead, strict=True) if isinstance(s, list)]
            words = [token for row in rows for token in row]
            may_refuse &= len(rows) == len(ahead)  # Beside raw strings, lists are meant as such.
            is_checked = text.check_tokens(words, tokenizer, may_refuse)  # it warns once
        may_refuse = False  # The vectors of the first sentences may have been taken.
        for tokens in tokenized:
            yield tokens[:max_tokens]


def _tokenize(tokenizer, sentences, first):
    """The tokens of each sentence, lists of bytes. `first` is the row of the first, for errors."""
    raw = [index for index, sentence in enumerate(sentences) if isinstance(sentence, str | bytes)]
    tokens = [
        None if isinstance(sentence, str | bytes) else _checked_tokens(sentence, row)
        for row, sentence in enumerate(sentences, first)
    ]
    if raw and tokenizer is None:
        raise ValueError(
            "With `tokenizer=None` each sentence must be a list of tokens. "
            f"Received: {short_repr(sentences[raw[0]])} in row {first + raw[0]}"
        )
    if raw:
        split = tokenizer.tokenize(text.strings([sentences[index] for index in raw]))
        for index, words in zip(raw, split.to_list(), strict=True):
            tokens[index] = words
    return tokens


def as_python(sentence, row):
    """A sentence as a string or a list; an array or tensor of shape () is a string."""
    if isinstance(sentence, tuple):
        return list(sentence)
    if hasattr(sentence, "__array__"):
        sentence = np.asarray(sentence).tolist()
    if not isinstance(sentence, str | bytes | list):
        raise not_text(_RULE, sentence, f"row {row}")
    return sentence


def _checked_tokens(sentence, row):
    sentence = without_padding(sentence)
    for index, token in enumerate(sentence):
        if not isinstance(token, str | bytes):
            raise not_text(_RULE, token, f"token {index} of row {row}")
    return [text_to_bytes(token) for token in sentence]
