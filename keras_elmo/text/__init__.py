"""Strings to tokens to character ids, inside the TensorFlow graph."""

from keras_elmo.text.character_ids import batch_to_ids, character_ids
from keras_elmo.text.tensors import strings, to_tokens
from keras_elmo.text.tokenizers import get_tokenizer, token_spans
from keras_elmo.text.treebank_tokenizer import TreebankTokenizer, WebTokenizer
from keras_elmo.text.whitespace_tokenizer import (
    CharacterTokenizer,
    SpaceTokenizer,
    WhitespaceTokenizer,
)

__all__ = [
    "CharacterTokenizer", "SpaceTokenizer", "TreebankTokenizer", "WebTokenizer",
    "WhitespaceTokenizer", "batch_to_ids", "character_ids", "get_tokenizer", "strings", "to_tokens",
    "token_spans",
]  # fmt: skip
