"""Many sentences: read ahead a little, sorted by length, batched by tokens, in order again."""

import contextlib
import itertools
import time
from numbers import Integral

import numpy as np
import tensorflow as tf

from keras_elmo import text
from keras_elmo.checks import check_integers

# Enough rows for matrix products near the machine's peak, in memory of about 0.2 GB.
TOKEN_BUDGET = 4096
_WINDOW_BATCHES = 4  # batches that are sorted together
_READ_AHEAD = 256  # sentences that are tokenised together
_SECONDS_OF_A_LINE = 5  # between two lines of progress where there is no terminal


def embed_stream(elmo, sentences, layers, token_budget, progress):
    """See `Elmo.embed_stream`."""
    choices = list(layers) if isinstance(layers, list | tuple) else [layers]
    choices = _check_choices(elmo, choices, layers)
    check_integers(1, token_budget=token_budget)
    sentences = _check_sentences(elmo.tokenizer, sentences)
    total = len(sentences) if hasattr(sentences, "__len__") else None
    results = _stream(elmo, sentences, choices, token_budget, progress, total)
    if isinstance(layers, list | tuple):
        return results
    return (result[choices[0]] for result in results)


def tokenize(tokenizer, sentences, max_tokens=None):
    """See `ContextualModel.tokenize`."""
    sentences = iter(_check_sentences(tokenizer, sentences))
    return [
        [token.decode("utf-8", "surrogateescape") for token in tokens[:max_tokens]]
        for ahead in iter(lambda: list(itertools.islice(sentences, _READ_AHEAD)), [])
        for tokens in _tokenize(tokenizer, ahead)
    ]


def _check_sentences(tokenizer, sentences):
    """Sentences as something that can be iterated."""
    if isinstance(sentences, str | bytes):
        raise TypeError(
            "`sentences` must be a list of sentences; for one, pass [sentence]. "
            f"Received: {sentences!r}"
        )
    if hasattr(sentences, "__array__") or tf.is_tensor(sentences):
        # Arrays and tensors mean what they mean in a call.
        return text.to_tokens(text.strings(sentences), tokenizer).to_list()
    if isinstance(sentences, dict) or not hasattr(sentences, "__iter__"):
        raise TypeError(
            "`sentences` must be a list, an array or another iterable of sentences. "
            f"Received: {type(sentences).__name__}"
        )
    return sentences


def _stream(elmo, sentences, choices, token_budget, progress, total):
    with _progress_bar(total, progress) as advance:
        window_tokens = _WINDOW_BATCHES * token_budget
        for window in _windows(elmo.tokenizer, sentences, window_tokens, elmo.max_tokens):
            yield from _embed_window(elmo, window, choices, token_budget, advance)


def _embed_window(elmo, window, choices, token_budget, advance):
    # Each word once, the shortest first: the encoder cuts its characters to the longest of a call.
    words = sorted({word for tokens in window for word in tokens}, key=len)
    place = {word: number for number, word in enumerate(words)}
    embeddings = elmo._token_encoder.from_many_words(words)
    results = [None] * len(window)
    for batch in _batches(window, token_budget):
        index = [place[word] for number in batch for word in window[number]]
        lengths = [len(window[number]) for number in batch]
        layers = elmo._traced_layers(
            embeddings, tf.constant(index, tf.int32), tf.constant(lengths, tf.int64)
        )
        boundaries = 2 if elmo.keep_sentence_boundaries else 0
        ends = np.cumsum([length + boundaries for length in lengths])[:-1]
        arrays = [_select(elmo, layers, choice, ends) for choice in choices]
        for number, *row in zip(batch, *arrays, strict=True):
            results[number] = dict(zip(choices, row, strict=True))
        advance(len(batch))
    for number, result in enumerate(results):
        results[number] = None  # the window's memory goes as its arrays are taken
        yield result


def _select(elmo, layers, choice, ends):
    """One choice of a batch, for each sentence an array.

    Args:
        layers: list of `num_layers + 1` floats, (N, D). All tokens of the batch.
        choice: as `Elmo.embed` takes it.
        ends: the places among the tokens where sentences end, but for the last.
    """
    mixes = dict(zip(elmo._mix_names(), elmo.mixes, strict=True), default=elmo.mixes[0])
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


def token_batches(tokenizer, sentences, token_budget):
    """Sentences in their order as RaggedTensors of tokens, of about `token_budget` tokens each."""
    sentences = _check_sentences(tokenizer, sentences)
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
    if not isinstance(sentence, list | tuple | np.ndarray) or getattr(sentence, "ndim", 1) == 0:
        raise TypeError(
            "Each sentence must be a string or a list of strings. "
            f"Received: {sentence!r} ({type(sentence).__name__})"
        )
    tokens = text.strings(list(sentence))
    if isinstance(tokens, tf.RaggedTensor):
        raise TypeError(
            "Each sentence must be a string or a list of strings. "
            f"Received: a list of lists, {sentence!r}"
        )
    return tokens.numpy().tolist()


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


def _check_choices(elmo, choices, layers):
    """Checks what `layers` chooses, and gives it with Python's own numbers."""
    last = elmo.config.num_layers
    names = [*elmo._sequence_names(), "default", "average", "top", "all"]
    for place, choice in enumerate(choices):
        is_number = isinstance(choice, Integral) and not isinstance(choice, bool)
        if is_number and -last - 1 <= choice <= last:
            choices[place] = int(choice)
        elif not (isinstance(choice, str) and choice in names):
            choices = []
            break
    if not choices:
        raise ValueError(
            f"`layers` must be one of {names}, a number from {-last - 1} to {last}, or a list of "
            f"these. Received: layers={layers!r}"
        )
    return choices


@contextlib.contextmanager
def _progress_bar(total, is_shown):
    if not is_shown:
        yield lambda count: None
        return
    import rich.console
    import rich.progress

    is_notebook = rich.console.Console().is_jupyter
    # Plain text in notebooks, too: it stays in a saved notebook, and needs no widgets.
    console = rich.console.Console(stderr=True, force_jupyter=False)
    # Not `is_terminal`: Jupyter sets FORCE_COLOR, for which rich takes any output for a terminal.
    if is_notebook or not console.file.isatty():
        lines = _ProgressLines(total, console)
        yield lines.advance
        lines.show()
        return
    columns = [
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TimeRemainingColumn(),
    ]
    with rich.progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("sentences", total=total)
        yield lambda count: bar.advance(task, count)


class _ProgressLines:
    """Progress as lines of text, for notebooks and log files: they stay where they are written.

    Args:
        total: int, the sentences of all; or `None` where it is not known.
    """

    def __init__(self, total, console):
        self.total = "" if total is None else f"/{total:,}"
        self.console = console
        self.count = 0
        self.start = self.last = time.monotonic()

    def advance(self, count):
        self.count += count
        if time.monotonic() - self.last >= _SECONDS_OF_A_LINE:
            self.show()

    def show(self):
        self.last = time.monotonic()
        seconds = self.last - self.start
        line = f"sentences: {self.count:,}{self.total}, {seconds:,.0f} s"
        self.console.print(line, highlight=False, soft_wrap=True)
