"""`embed_stream`: the vectors of many sentences, in batches of sentences of like length."""

from numbers import Integral

import numpy as np
import tensorflow as tf

from keras_elmo.checks import check_integers
from keras_elmo.models.outputs import OutputNames
from keras_elmo.models.sentences import (
    MAX_TOKENS,
    MIN_ROWS,
    TOKEN_BUDGET,
    as_sentences,
    num_tokens,
    read_tokens,
    within_budget,
)
from keras_elmo.progress import ProgressDisplay
from keras_elmo.signals import check_signals

_GROUP_BATCHES = 4  # batches whose sentences are sorted together


def embed_stream(elmo, sentences, layers, token_budget, progress):
    """See `Elmo.embed_stream`."""
    layer_specs = parse_layers(elmo.config, layers, elmo.num_mixes)
    if token_budget is not None:
        check_integers(1, token_budget=token_budget)
    sentences = as_sentences(elmo.tokenizer, sentences)
    total = len(sentences) if hasattr(sentences, "__len__") else None
    results = _stream(elmo, sentences, layer_specs, token_budget, progress, total)
    if isinstance(layers, list | tuple):
        return results
    return (result[layer_specs[0]] for result in results)


def parse_layers(config, layers, num_mixes):
    """What the argument `layers` asks for, a list; the numbers of layers are Python ints.

    Args:
        config: the `ElmoConfig` of the model.
        layers: see `Elmo.embed`.
        num_mixes: int. The mixes of the model.

    Raises:
        ValueError: the list is empty, or holds what is neither a name nor the number of a layer.
    """
    last = config.num_layers
    sequences = OutputNames(config, num_mixes, num_boundaries=0).sequences
    names = [*sequences, "default", "average", "top", "all"]
    layer_specs = []
    for spec in layers if isinstance(layers, list | tuple) else [layers]:
        is_number = isinstance(spec, Integral) and not isinstance(spec, bool)
        if is_number and -last - 1 <= spec <= last:
            layer_specs.append(int(spec))
        elif isinstance(spec, str) and spec in names:
            layer_specs.append(spec)
        else:
            layer_specs.clear()
            break
    if not layer_specs:
        raise ValueError(
            f"`layers` must be one of {names}, a number from {-last - 1} to {last}, or a list of "
            f"these. Received: layers={layers!r}"
        )
    return layer_specs


def _stream(elmo, sentences, layer_specs, token_budget, progress, total):
    with ProgressDisplay("embedding", total, rate_unit="tokens", is_shown=progress) as display:
        tokens = read_tokens(elmo.tokenizer, sentences, elmo.max_tokens)
        yield from embed_tokens(elmo, tokens, layer_specs, token_budget, display.advance)


def embed_tokens(elmo, sentences, layer_specs, token_budget, advance):
    """The results of sentences that are tokenised, in their order.

    Args:
        elmo: an `Elmo`.
        sentences: iterable of lists of bytes.
        layer_specs: what `parse_layers` gives.
        token_budget: int or `None`, see `Elmo.embed`.
        advance: function that is called after each batch with its sentences and tokens, two ints.

    Yields:
        For each sentence a dict of NumPy arrays, by choice.
    """
    group_budget = _GROUP_BATCHES * (TOKEN_BUDGET if token_budget is None else token_budget)
    for group in _within_budget(sentences, num_tokens, group_budget, token_budget is None):
        yield from _embed_group(elmo, group, layer_specs, token_budget, advance)


def _within_budget(items, size_of, budget, is_adaptive):
    if is_adaptive:
        return within_budget(items, size_of, budget, MIN_ROWS, MAX_TOKENS)
    return within_budget(items, size_of, budget)


def _embed_group(elmo, group, layer_specs, token_budget, advance):
    """The results of a group of sentences, in the order of the group."""
    # Each word once, the shortest first: the encoder cuts its characters to the longest of a call.
    # A set of bytes has another order in each process, and the numbers' last bits would differ.
    words = sorted(
        {word for tokens in group for word in tokens}, key=lambda word: (len(word), word)
    )
    index_of = {word: index for index, word in enumerate(words)}
    embeddings = elmo.token_encoder.from_many_words(words)
    results = [None] * len(group)
    for batch in _batches(group, token_budget):
        word_index = [index_of[word] for row in batch for word in group[row]]
        lengths = [len(group[row]) for row in batch]
        layers = elmo.traced_layers(
            embeddings, tf.constant(word_index, tf.int32), tf.constant(lengths, tf.int64)
        )
        ends = np.cumsum([length + elmo.output_keys.num_boundaries for length in lengths])[:-1]
        arrays = [_select(elmo, layers, spec, ends) for spec in layer_specs]
        for row, *chosen in zip(batch, *arrays, strict=True):
            results[row] = dict(zip(layer_specs, chosen, strict=True))
        advance(len(batch), len(word_index))
        check_signals()
    for row, result in enumerate(results):
        results[row] = None  # the group's memory goes as its arrays are taken
        yield result


def _select(elmo, layers, choice, ends):
    """One choice of a batch, for each sentence an array.

    Args:
        layers: list of `num_layers + 1` floats, (N, D). All tokens of the batch.
        choice: as `Elmo.embed` takes it.
        ends: list of ints. After how many tokens each sentence ends, but for the last.
    """
    mixes = dict(zip(elmo.output_keys.mixes, elmo.mixes, strict=True), default=elmo.mixes[0])
    if choice in mixes:
        values = mixes[choice](layers)
    elif choice == "all":
        values = tf.stack(layers)
    elif choice == "average":
        values = sum(layers) / len(layers)
    elif choice == "top":
        values = layers[-1]
    elif choice == "word_emb":
        values = layers[0][:, : elmo.config.projection_dim]
    elif isinstance(choice, str):
        values = layers[int(choice.removeprefix("lstm_outputs"))]
    else:
        values = layers[choice]
    arrays = np.split(values.numpy().astype(np.float32, copy=False), ends, axis=-2)
    if choice == "default":
        return [sentence_mean(array) for array in arrays]
    return [array.copy() for array in arrays]  # a view would keep its whole batch alive


def sentence_mean(vectors):
    """The mean over the tokens of a sentence, (D,); zeros for a sentence without tokens.

    Args:
        vectors: float32, (tokens, D).
    """
    return vectors.sum(axis=0) / max(len(vectors), 1)


def _batches(group, token_budget):
    """The rows of a group, longest sentence first, in batches of at most `token_budget` tokens."""

    def size_of(row):
        return num_tokens(group[row])

    rows = sorted(range(len(group)), key=lambda row: -len(group[row]))
    if token_budget is not None:
        return list(within_budget(rows, size_of, token_budget))
    batches = list(_within_budget(rows, size_of, TOKEN_BUDGET, is_adaptive=True))
    if len(batches) > 1 and len(batches[-1]) < MIN_ROWS:  # the rest is too small by itself
        last = batches[-2] + batches[-1]
        if sum(map(size_of, last)) <= MAX_TOKENS:
            batches[-2:] = [last]
    return batches
