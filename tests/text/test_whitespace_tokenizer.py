import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text.tokenizer_cases import NO_SPACES, SPACES, noise, python_split, split, texts, tokenizer_of

from keras_elmo import SpaceTokenizer, WhitespaceTokenizer


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, max_size=4))
@example(["two\u00a0words", "", SPACES, f"a{SPACES}b"])
def test_whitespace_splits_text_as_python_does(strings):
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == [
        [word.encode() for word in string.split()] for string in strings
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
def test_whitespace_splits_any_bytes_as_python_does(strings):
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == [
        python_split(string) for string in strings
    ]


@pytest.mark.parametrize("character", SPACES + NO_SPACES, ids=lambda c: f"U+{ord(c):04X}")
def test_every_space_of_python_splits_and_nothing_else(character):
    string = f"two{character}words"
    expected = [[word.encode() for word in string.split()]]
    assert split(tokenizer_of(WhitespaceTokenizer), [string]) == expected


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
@example([b"two\xc2\xa0words", b"", b"a \tb  c\n"])
def test_space_splits_any_bytes_on_the_space_alone(strings):
    expected = [[word for word in string.split(b" ") if word] for string in strings]
    assert split(tokenizer_of(SpaceTokenizer), strings) == expected
