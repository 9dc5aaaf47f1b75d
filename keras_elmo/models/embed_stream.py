"""`embed_stream`: the vectors of many sentences, in batches of sentences of like length."""

from numbers import Integral

import numpy as np
import tensorflow as tf

from keras_elmo.checks import check_integers
from keras_elmo.models.progress_bar import progress_bar
from keras_elmo.models.sentences import as_sentences, groups, num_tokens, within_budget

_GROUP_BATCHES = 4  # batches whose sentences are sorted together


def embed_stream(elmo, sentences, layers, token_budget, progress):
    """See `Elmo.embed_stream`."""
    choices = _parse_choices(elmo, layers)
    check_integers(1, token_budget=token_budget)
    sentences = as_sentences(elmo.tokenizer, sentences)
    total = len(sentences) if hasattr(sentences, "__len__") else None
    results = _stream(elmo, sentences, choices, token_budget, progress, total)
    if isinstance(layers, list | tuple):
        return results
    return (result[choices[0]] for result in results)


def _parse_choices(elmo, layers):
    """The choices of the argument `layers`, a list; the numbers of layers are Python ints.

    Raises:
        ValueError: there is no choice, or one is neither a name nor the number of a layer.
    """
    last = elmo.config.num_layers
    names = [*elmo._output_names.sequences, "default", "average", "top", "all"]
    message = (
        f"`layers` must be one of {names}, a number from {-last - 1} to {last}, or a list of "
        f"these. Received: layers={layers!r}"
    )
    choices = []
    for choice in layers if isinstance(layers, list | tuple) else [layers]:
        is_number = isinstance(choice, Integral) and not isinstance(choice, bool)
        if is_number and -last - 1 <= choice <= last:
            choices.append(int(choice))
        elif isinstance(choice, str) and choice in names:
            choices.append(choice)
        else:
            raise ValueError(message)
    if not choices:
        raise ValueError(message)
    return choices


def _stream(elmo, sentences, choices, token_budget, progress, total):
    with progress_bar(total, progress) as advance:
        group_budget = _GROUP_BATCHES * token_budget
        for group in groups(elmo.tokenizer, sentences, group_budget, elmo.max_tokens):
            yield from _embed_group(elmo, group, choices, token_budget, advance)


def _embed_group(elmo, group, choices, token_budget, advance):
    """The results of a group of sentences, in the order of the group."""
    # Each word once, the shortest first: the encoder cuts its characters to the longest of a call.
    words = sorted({word for tokens in group for word in tokens}, key=len)
    index_of = {word: index for index, word in enumerate(words)}
    embeddings = elmo._token_encoder.from_many_words(words)
    results = [None] * len(group)
    for batch in _batches(group, token_budget):
        word_index = [index_of[word] for row in batch for word in group[row]]
        lengths = [len(group[row]) for row in batch]
        layers = elmo._traced_layers(
            embeddings, tf.constant(word_index, tf.int32), tf.constant(lengths, tf.int64)
        )
        ends = np.cumsum([length + elmo._num_boundaries for length in lengths])[:-1]
        arrays = [_select(elmo, layers, choice, ends) for choice in choices]
        for row, *chosen in zip(batch, *arrays, strict=True):
            results[row] = dict(zip(choices, chosen, strict=True))
        advance(len(batch))
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
    mixes = dict(zip(elmo._output_names.mixes, elmo.mixes, strict=True), default=elmo.mixes[0])
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
    if choice == "default":  # a sentence without tokens has zeros
        return [array.sum(axis=0) / max(len(array), 1) for array in arrays]
    return [array.copy() for array in arrays]  # a view would keep its whole batch alive


def _batches(group, token_budget):
    """The rows of a group, longest sentence first, in batches of at most `token_budget` tokens."""
    rows = sorted(range(len(group)), key=lambda row: -len(group[row]))
    return within_budget(rows, lambda row: num_tokens(group[row]), token_budget)
