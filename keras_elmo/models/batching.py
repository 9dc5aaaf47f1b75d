"""Many sentences: read ahead a little, sorted by length, batched by tokens, in order again."""

import contextlib
import itertools
from numbers import Integral

import numpy as np
import tensorflow as tf

from keras_elmo import text
from keras_elmo.checks import check_integers

# Enough rows for matrix products near the machine's peak, in memory of about 0.2 GB.
TOKEN_BUDGET = 4096
_WINDOW_BATCHES = 4  # batches that are sorted together
_READ_AHEAD = 256  # sentences that are tokenised together


def embed_stream(elmo, sentences, layers, token_budget, progress):
    """See `Elmo.embed_stream`."""
    layers = _check_layers(elmo, layers)
    check_integers(1, token_budget=token_budget)
    if isinstance(sentences, str | bytes):
        raise TypeError(
            "`sentences` must be a list of sentences; for one, pass [sentence]. "
            f"Received: {sentences!r}"
        )
    if hasattr(sentences, "__array__") or tf.is_tensor(sentences):
        # Arrays and tensors mean what they mean in a call.
        sentences = text.to_tokens(text.strings(sentences), elmo.tokenizer).to_list()
    if isinstance(sentences, dict) or not hasattr(sentences, "__iter__"):
        raise TypeError(
            "`sentences` must be a list, an array or another iterable of sentences. "
            f"Received: {type(sentences).__name__}"
        )
    total = len(sentences) if hasattr(sentences, "__len__") else None
    return _stream(elmo, sentences, layers, token_budget, progress, total)


def _stream(elmo, sentences, layers, token_budget, progress, total):
    with _progress_bar(total, progress) as advance:
        window_tokens = _WINDOW_BATCHES * token_budget
        for window in _windows(elmo.tokenizer, sentences, window_tokens, elmo.max_tokens):
            yield from _embed_window(elmo, window, layers, token_budget, advance)


def _embed_window(elmo, window, layers, token_budget, advance):
    # Each word once, the shortest first: the encoder cuts its characters to the longest of a call.
    words = sorted({word for tokens in window for word in tokens}, key=len)
    place = {word: number for number, word in enumerate(words)}
    embeddings = elmo.token_encoder.encode_all(words)
    results = [None] * len(window)
    for batch in _batches(window, token_budget):
        index = [place[word] for number in batch for word in window[number]]
        lengths = [len(window[number]) for number in batch]
        vectors = elmo.compiled_batch(
            embeddings, tf.constant(index, tf.int32), tf.constant(lengths, tf.int64), layers
        )
        boundaries = 2 if elmo.keep_sentence_boundaries else 0
        ends = np.cumsum([length + boundaries for length in lengths])[:-1]
        arrays = np.split(vectors.numpy().astype(np.float32, copy=False), ends, axis=-2)
        for number, array in zip(batch, arrays, strict=True):
            results[number] = array.copy()  # a view would keep its whole batch alive
        advance(len(batch))
    for number, array in enumerate(results):
        results[number] = None  # the window's memory goes as its arrays are taken
        yield array


def select(elmo, outputs, mask, layers):
    """The chosen layers of real tokens alone: (N, D), or (num_layers + 1, N, D) for `"all"`."""
    if layers == "all":
        return tf.stack([tf.boolean_mask(layer, mask) for layer in outputs])
    if layers in elmo.mix_names():
        outputs = elmo.mixes[elmo.mix_names().index(layers)](outputs, mask=mask)
    elif layers == "average":
        outputs = sum(outputs) / len(outputs)
    else:
        outputs = outputs[-1 if layers == "top" else layers]
    return tf.boolean_mask(outputs, mask)


def token_batches(tokenizer, sentences, token_budget):
    """Sentences in their order as RaggedTensors of tokens, of about `token_budget` tokens each."""
    for window in _windows(tokenizer, sentences, token_budget):
        yield text.strings(window)


def _windows(tokenizer, sentences, window_tokens, max_tokens=None):
    """Lists of sentences as lists of tokens (bytes), of about `window_tokens` tokens each.

    Of each sentence, `max_tokens` tokens are taken at most.
    """
    window, tokens = [], 0
    sentences = iter(sentences)
    while ahead := list(itertools.islice(sentences, _READ_AHEAD)):
        for sentence in _tokenize(tokenizer, ahead):
            sentence = sentence[:max_tokens]
            if window and tokens + len(sentence) > window_tokens:
                yield window
                window, tokens = [], 0
            window.append(sentence)
            tokens += len(sentence) + 2
    if window:
        yield window


def _tokenize(tokenizer, sentences):
    raw = [number for number, sentence in enumerate(sentences) if isinstance(sentence, str | bytes)]
    tokens = [None if isinstance(s, str | bytes) else _checked(s) for s in sentences]
    if raw and tokenizer is None:
        raise ValueError(
            "With `tokenizer=None` each sentence must be a list of tokens. "
            f"Received: {sentences[raw[0]]!r}"
        )
    if raw:
        strings = text.strings([sentences[number] for number in raw])
        split = tokenizer.tokenize(strings)
        values = split.flat_values.numpy()
        bounds = split.row_splits.numpy()
        for number, start, end in zip(raw, bounds[:-1], bounds[1:], strict=True):
            tokens[number] = values[start:end].tolist()
    return tokens


def _checked(sentence):
    if not isinstance(sentence, list | tuple | np.ndarray):
        raise TypeError(
            "Each sentence must be a string or a list of strings. "
            f"Received: {sentence!r} ({type(sentence).__name__})"
        )
    return text.strings(list(sentence)).numpy().tolist()


def _batches(window, token_budget):
    """Numbers of sentences, longest first, in groups of at most `token_budget` tokens."""
    batch, tokens = [], 0
    for number in sorted(range(len(window)), key=lambda n: -len(window[n])):
        size = len(window[number]) + 2
        if batch and tokens + size > token_budget:
            yield batch
            batch, tokens = [], 0
        batch.append(number)
        tokens += size
    if batch:
        yield batch


def _check_layers(elmo, layers):
    last = elmo.config.num_layers
    if isinstance(layers, Integral) and not isinstance(layers, bool) and 0 <= layers <= last:
        return int(layers)
    names = [*elmo.mix_names(), "average", "top", "all"]
    if layers not in names:
        raise ValueError(
            f"`layers` must be one of {names}, or a number from 0 to {last}. "
            f"Received: layers={layers!r}"
        )
    return layers


@contextlib.contextmanager
def _progress_bar(total, is_shown):
    if not is_shown:
        yield lambda count: None
        return
    import rich.console
    import rich.progress

    columns = [
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TimeRemainingColumn(),
    ]
    console = rich.console.Console(stderr=True)
    with rich.progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("sentences", total=total)
        yield lambda count: bar.advance(task, count)
