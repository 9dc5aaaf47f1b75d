"""The properties of `tests/text` and `tests/test_characters.py`, on strings drawn from the seed."""

import inspect

import hypothesis
import test_characters
from text import (
    test_byte_ids,
    test_character_ids,
    test_dictionary_scheme,
    test_inputs,
    test_tokenizers,
    test_treebank_tokenizer,
    test_whitespace_tokenizer,
)

_MODULES = [
    test_byte_ids,
    test_character_ids,
    test_characters,
    test_dictionary_scheme,
    test_inputs,
    test_tokenizers,
    test_treebank_tokenizer,
    test_whitespace_tokenizer,
]


def run(seed, folder):
    properties = [
        function
        for module in _MODULES
        for function in vars(module).values()
        if hypothesis.is_hypothesis_test(function) and not inspect.signature(function).parameters
    ]
    for function in properties:
        hypothesis.seed(seed)(function)()
