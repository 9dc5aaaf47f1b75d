"""Many sentences as a user hands them over: read ahead a little, and tokenised together."""

import itertools

import numpy as np
import tensorflow as tf

from keras_elmo import text

# Enough rows for matrix products near the machine's peak, in memory of about 0.2 GB.
TOKEN_BUDGET = 4096
_READ_AHEAD = 256  # sentences that are tokenised together


def tokenize(tokenizer, sentences, max_tokens=None):
    """See `ContextualModel.tokenize`."""
    sentences = iter(check_sentences(tokenizer, sentences))
    return [
        [token.decode("utf-8", "surrogateescape") for token in tokens[:max_tokens]]
        for ahead in iter(lambda: list(itertools.islice(sentences, _READ_AHEAD)), [])
        for tokens in _tokenize(tokenizer, ahead)
    ]


def check_sentences(tokenizer, sentences):
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


def token_batches(tokenizer, sentences, token_budget):
    """Sentences in their order as RaggedTensors of tokens, of about `token_budget` tokens each."""
    sentences = check_sentences(tokenizer, sentences)
    for window in windows(tokenizer, sentences, token_budget):
        yield text.strings(window)


def windows(tokenizer, sentences, window_tokens, max_tokens=None):
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
    """The tokens of each sentence, lists of bytes. Raw strings are split in one call."""
    raw = [index for index, sentence in enumerate(sentences) if isinstance(sentence, str | bytes)]
    tokens = [None if isinstance(s, str | bytes) else _checked_tokens(s) for s in sentences]
    if raw and tokenizer is None:
        raise ValueError(
            "With `tokenizer=None` each sentence must be a list of tokens. "
            f"Received: {sentences[raw[0]]!r}"
        )
    if raw:
        strings = text.strings([sentences[index] for index in raw])
        split = tokenizer.tokenize(strings)
        values = split.flat_values.numpy()
        bounds = split.row_splits.numpy()
        for index, start, end in zip(raw, bounds[:-1], bounds[1:], strict=True):
            tokens[index] = values[start:end].tolist()
    return tokens


def _checked_tokens(sentence):
    """The tokens of a sentence that is a list of strings, as bytes."""
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
