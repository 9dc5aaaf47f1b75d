"""`embed_tokens`: the vectors of many sentences, in batches of sentences of like length."""

import numpy as np
from keras import ops

from keras_elmo.backend import ON_TENSORFLOW
from keras_elmo.checks import is_integer
from keras_elmo.models.outputs import OutputNames, choose_layer
from keras_elmo.process.signals import check_signals
from keras_elmo.text.reading import read_tokens
from keras_elmo.text.tensors import ragged_tokens

# Enough rows for matrix products near the machine's peak, if sentences are of usual length.
TOKEN_BUDGET = 4096
# Products of few rows wait for the weights to be read, so a batch of long sentences grows to
# MIN_ROWS of them, but never beyond MAX_TOKENS. `benchmarks/corpora.py` measures both.
MIN_ROWS = 24
MAX_TOKENS = 6 * TOKEN_BUDGET
_GROUP_BATCHES = 4  # batches whose sentences are sorted together: enough to be of like length


def parse_layers(config, layers, num_mixes, argument="layers"):
    """The argument `layers` of `Elmo.embed`, called `argument` in errors: a list of str and int."""
    last = config.num_layers
    sequences = OutputNames(config, num_mixes, num_boundaries=0).sequences
    names = [*sequences, "default", "average", "sum", "top", "all"]

    def is_valid(spec):
        if isinstance(spec, str):
            return spec in names
        return is_integer(spec) and -last - 1 <= spec <= last

    layer_specs = layers if isinstance(layers, list | tuple) else [layers]
    if not layer_specs or not all(map(is_valid, layer_specs)):
        raise ValueError(
            f"`{argument}` must be one of {names}, a number from {-last - 1} to {last}, or a list "
            f"of these. Received: {argument}={layers!r}"
        )
    return [spec if isinstance(spec, str) else int(spec) for spec in layer_specs]


def embed_tokens(elmo, sentences, layer_specs, token_budget, advance):
    """For each sentence, a list of bytes, a dict of NumPy arrays by their `layer_specs`."""
    for group in groups(sentences, token_budget):
        # Each word once, the shortest first: the encoder cuts its characters to the longest of a
        # call. The order of a set of bytes would change the last bits from process to process.
        words = sorted({word for tokens in group for word in tokens}, key=lambda w: (len(w), w))
        index_of = {word: index for index, word in enumerate(words)}
        embeddings = elmo.token_encoder.from_many_words(words)
        results = [None] * len(group)
        for batch in batches(group, token_budget):
            word_index = [index_of[word] for row in batch for word in group[row]]
            lengths = [len(group[row]) for row in batch]
            layers = elmo.layers_of_tokens(embeddings, word_index, lengths)
            ends = np.cumsum([length + elmo.output_keys.num_boundaries for length in lengths])[:-1]
            arrays = [_split(elmo, layers, spec, ends) for spec in layer_specs]
            for row, *chosen in zip(batch, *arrays, strict=True):
                results[row] = dict(zip(layer_specs, chosen, strict=True))
            advance(len(batch))
            check_signals()
        for row, result in enumerate(results):
            results[row] = None  # frees the group's memory while its arrays are taken
            yield result


def _split(elmo, layers, spec, ends):
    """What a layer spec names, for each sentence of a batch an array.

    `layers` are floats (N, D) of all tokens. All sentences but the last have their end in `ends`.
    """
    is_mean = spec == "default"
    name = "elmo" if is_mean else spec
    if name in elmo.output_keys.mixes:
        values = elmo.mixes[elmo.output_keys.mixes.index(name)](layers)
    elif name == "word_emb":
        values = layers[0][:, : elmo.config.projection_dim]
    else:
        values = choose_layer(layers, name)
    array = values.numpy() if ON_TENSORFLOW else ops.convert_to_numpy(values)
    arrays = np.split(array.astype(np.float32, copy=False), ends, axis=-2)
    # A view would keep the arrays of the whole batch in memory.
    return [sentence_mean(array) if is_mean else array.copy() for array in arrays]


def sentence_mean(vectors):
    """The mean of (tokens, D), (D,): zeros for a sentence without tokens."""
    return vectors.sum(axis=0) / max(len(vectors), 1)


def unit_vectors(vectors):
    """Vectors of length 1 in the same directions; a zero vector stays zero."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


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
