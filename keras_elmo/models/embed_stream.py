"""`embed_stream`: the vectors of many sentences, in batches of sentences of like length."""

import numpy as np
import tensorflow as tf

from keras_elmo.checks import check_integers, is_integer
from keras_elmo.models.outputs import OutputNames, choose_layer
from keras_elmo.models.sentences import as_sentences, batches, groups, read_tokens
from keras_elmo.process.progress import ProgressBar
from keras_elmo.process.signals import check_signals


def embed_stream(elmo, sentences, layers, token_budget, progress):
    """See `Elmo.embed_stream`. Wrong arguments raise at once, and not with the first result."""
    layer_specs = parse_layers(elmo.config, layers, elmo.num_mixes)
    if token_budget is not None:
        check_integers(1, token_budget=token_budget)
    sentences = as_sentences(elmo.tokenizer, sentences)
    total = len(sentences) if hasattr(sentences, "__len__") else None
    are_several = isinstance(layers, list | tuple)

    def results():
        with ProgressBar("embedding", total, is_shown=progress) as bar:
            tokens = read_tokens(elmo.tokenizer, sentences, elmo.max_tokens)
            for result in embed_tokens(elmo, tokens, layer_specs, token_budget, bar.update):
                yield result if are_several else result[layer_specs[0]]

    return results()


def parse_layers(config, layers, num_mixes, argument="layers"):
    """The argument `layers` as a list of strings and ints.

    Args:
        config: the `ElmoConfig` of the model.
        layers: see `Elmo.embed`.
        num_mixes: int. The mixes of the model.
        argument: str. What the caller calls this argument.

    Raises:
        ValueError: the list is empty, or holds something that is not the name or number of a layer.
    """
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
    """The results of sentences that are tokenised, in their order.

    Args:
        elmo: an `Elmo`.
        sentences: iterable of lists of bytes.
        layer_specs: what `parse_layers` gives.
        token_budget: int or `None`, see `Elmo.embed`.
        advance: function that is called after each batch with the number of its sentences.

    Yields:
        For each sentence a dict of NumPy arrays, by the elements of `layer_specs`.
    """
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
            layers = elmo.layers_of_tokens(
                embeddings, tf.constant(word_index, tf.int32), tf.constant(lengths, tf.int64)
            )
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

    Args:
        layers: list of `num_layers + 1` floats, (N, D). All tokens of the batch.
        spec: str or int.
        ends: list of ints. After how many tokens each sentence ends, but for the last.
    """
    is_mean = spec == "default"
    values = _layer(elmo, layers, "elmo" if is_mean else spec).numpy()
    arrays = np.split(values.astype(np.float32, copy=False), ends, axis=-2)
    # A view would keep the arrays of the whole batch in memory.
    return [sentence_mean(array) if is_mean else array.copy() for array in arrays]


def _layer(elmo, layers, spec):
    """What a layer spec names: float, (N, features), or (num_layers + 1, N, D) for `"all"`."""
    if spec in elmo.output_keys.mixes:
        return elmo.mixes[elmo.output_keys.mixes.index(spec)](layers)
    if spec == "word_emb":
        return layers[0][:, : elmo.config.projection_dim]
    return choose_layer(layers, spec)


def sentence_mean(vectors):
    """The mean over the tokens of a sentence, (D,); zeros for a sentence without tokens.

    Args:
        vectors: float32, (tokens, D).
    """
    return vectors.sum(axis=0) / max(len(vectors), 1)
