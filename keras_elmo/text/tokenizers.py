"""`get_tokenizer`: a tokenizer by its name or config."""

import functools

import keras

from keras_elmo.text.treebank_tokenizer import TreebankTokenizer
from keras_elmo.text.whitespace_tokenizer import SpaceTokenizer, WhitespaceTokenizer

TOKENIZERS = {
    "whitespace": WhitespaceTokenizer,
    "treebank": TreebankTokenizer,
    "space": SpaceTokenizer,
}


def get_tokenizer(identifier):
    """Returns the tokenizer that a user chose.

    Args:
        identifier: `"whitespace"`, `"treebank"`, `"space"`, a tokenizer, the config of a
            serialised tokenizer, or `None` for text that is tokenised already.

    Returns:
        A tokenizer, or `None`. A name always gives the same object.

    Raises:
        ValueError: the identifier is none of these.
    """
    tokenizer = identifier
    if isinstance(identifier, dict):
        tokenizer = keras.saving.deserialize_keras_object(identifier)
    elif isinstance(identifier, str) and identifier in TOKENIZERS:
        tokenizer = _by_name(identifier)
    if tokenizer is None or hasattr(tokenizer, "tokenize"):
        return tokenizer
    raise ValueError(
        '`tokenizer` must be "whitespace", "treebank", "space", None for tokenised text, or '
        f"an object with a method `tokenize`. Received: tokenizer={identifier!r}"
    )


@functools.cache
def _by_name(name):
    """One tokenizer for all models. Otherwise each model would trace its own."""
    return TOKENIZERS[name]()
