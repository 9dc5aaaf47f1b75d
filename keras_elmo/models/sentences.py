"""Many sentences in batches."""

from keras_elmo.text.reading import read_tokens
from keras_elmo.text.tensors import ragged_tokens

# Enough rows for matrix products near the machine's peak, if sentences are of usual length.
TOKEN_BUDGET = 4096
# Few long sentences are few rows, and products of few rows wait for the weights to be read. A batch
# therefore grows to MIN_ROWS sentences, but never beyond MAX_TOKENS tokens, which bound its memory.
# `benchmarks/corpora.py` measures both.
MIN_ROWS = 24
MAX_TOKENS = 6 * TOKEN_BUDGET
_GROUP_BATCHES = 4  # batches whose sentences are sorted together: enough to be of like length


def token_batches(tokenizer, sentences, token_budget):
    """Sentences in their order, in batches: each a RaggedTensor of tokens, (batch, None)."""
    for group in within_budget(read_tokens(sentences, tokenizer), num_tokens, token_budget):
        yield ragged_tokens(group)


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
