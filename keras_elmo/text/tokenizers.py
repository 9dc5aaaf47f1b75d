"""`get_tokenizer`: a tokenizer by its name or config."""

import functools
from typing import Any

import keras

from keras_elmo.characters import token_spans_of_texts
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
    (spans,) = token_spans_of_texts([text], get_tokenizer(tokenizer))
    return spans


@functools.cache
def _by_name(name):
    """One tokenizer for all models. Otherwise each model would trace its own."""
    return TOKENIZERS[name]()
