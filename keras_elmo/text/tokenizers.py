"""`get_tokenizer`: a tokenizer by its name or config."""

import functools
from typing import Any

import keras
import numpy as np

from keras_elmo.characters import text_to_bytes
from keras_elmo.text.treebank_tokenizer import TreebankTokenizer, WebTokenizer
from keras_elmo.text.whitespace_tokenizer import (
    CharacterTokenizer,
    SpaceTokenizer,
    WhitespaceTokenizer,
)

TOKENIZERS = {
    "whitespace": WhitespaceTokenizer,
    "treebank": TreebankTokenizer,
    "web": WebTokenizer,
    "space": SpaceTokenizer,
    "characters": CharacterTokenizer,
}


def get_tokenizer(identifier):
    """The tokenizer of a name, of a serialised tokenizer's config, of itself, or of `None`."""
    tokenizer = identifier
    if isinstance(identifier, dict):
        tokenizer = keras.saving.deserialize_keras_object(identifier)
    elif isinstance(identifier, str) and identifier in TOKENIZERS:
        tokenizer = _by_name(identifier)
    if tokenizer is None or hasattr(tokenizer, "tokenize"):
        return tokenizer
    raise ValueError(
        f"`tokenizer` must be one of {list(TOKENIZERS)}, None for tokenised text, or an object "
        f"with a method `tokenize`. Received: tokenizer={identifier!r}"
    )


def tokenizer_code(tokenizer):
    """The Python code of a tokenizer: its name, or the call that makes it."""
    kind, config = type(tokenizer), getattr(tokenizer, "get_config", dict)()
    for name, named in TOKENIZERS.items():
        if kind is named and config == _by_name(name).get_config():
            return repr(name)
    if tokenizer is None:
        return "None"
    package = "keras_elmo." if kind in TOKENIZERS.values() else ""
    arguments = ", ".join(f"{key}={value!r}" for key, value in config.items())
    return f"{package}{kind.__name__}({arguments})"


def token_spans(text: str, tokenizer: Any = "whitespace") -> list[tuple[int, int]]:
    """Where the tokens of a text are: the index of the first character, and of that after the last.

    `tokenize_with_offsets` of a tokenizer works in the graph, and counts bytes of UTF-8.

    Args:
        text: str.
        tokenizer: a name, or an object with a method `tokenize_with_offsets`.

    Raises:
        TypeError: `text` is not a string.
        ValueError: there is no such tokenizer, or it does not give offsets.

    Example:

    >>> [text[start:end] for start, end in token_spans(text := "un caf\u00e9 noir")]
    ['un', 'caf\u00e9', 'noir']
    """
    if not isinstance(text, str):
        raise TypeError(f"`text` must be a string. Received: {type(text).__name__}")
    (spans,) = token_spans_of_texts([text], tokenizer)
    return spans


def token_spans_of_texts(texts, tokenizer="whitespace"):
    """`token_spans` of each text of a list, faster than one by one."""
    tokenizer = get_tokenizer(tokenizer)
    if not hasattr(tokenizer, "tokenize_with_offsets"):
        rule = "must have a method `tokenize_with_offsets`"
        raise ValueError(f"`tokenizer` {rule}. Received: tokenizer={tokenizer!r}")
    _, *offsets = tokenizer.tokenize_with_offsets([text_to_bytes(text) for text in texts])
    rows = zip(texts, *(offset.to_list() for offset in offsets), strict=True)
    return [_in_characters(*row) for row in rows]


def _in_characters(text, starts, ends):
    """The spans of a text's tokens in characters, from those in bytes."""
    # By the index of a byte, the character that it belongs to; and at the end, their number.
    sizes = [len(text_to_bytes(character)) for character in text]
    character_at = np.repeat(np.arange(len(text) + 1), [*sizes, 1])
    return list(zip(character_at[starts].tolist(), character_at[ends].tolist(), strict=True))


@functools.cache
def _by_name(name):
    """One tokenizer for all models. Otherwise each model would trace its own."""
    return TOKENIZERS[name]()
