import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from text.tokenizer_cases import (
    EDGES,
    NO_SPACES,
    OPS,
    SPACES,
    noise,
    python_split,
    split,
    texts,
    tokenizer_of,
)

from keras_elmo import CharacterTokenizer, Elmo, SpaceTokenizer, WhitespaceTokenizer


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, max_size=4))
@example(["two\u00a0words", "", SPACES, f"a{SPACES}b"])
def test_whitespace_splits_text_as_python_does(strings):
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == [
        [word.encode() for word in string.split()] for string in strings
    ]


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
@example(EDGES)
@example([])
def test_whitespace_splits_any_bytes_as_python_does(strings):
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == [
        python_split(string) for string in strings
    ]


def test_every_space_of_python_splits_and_nothing_else():
    strings = [f"two{character}words" for character in SPACES + NO_SPACES]
    expected = [[word.encode() for word in string.split()] for string in strings]
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == expected


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
@example([b"two\xc2\xa0words", b"", b"a \tb  c\n"])
@example(EDGES)
def test_space_splits_any_bytes_on_the_space_alone(strings):
    expected = [[word for word in string.split(b" ") if word] for string in strings]
    assert split(tokenizer_of(SpaceTokenizer), strings) == expected


# CharacterTokenizer


@pytest.mark.parametrize("ops", OPS)
def test_each_character_but_spaces_is_a_token(ops):
    strings = ["MKT VL", "", "日本\u3000語", SPACES, "e\u0301\x00", "b"]
    tokens = [
        [token.decode() for token in row]
        for row in split(tokenizer_of(CharacterTokenizer, ops), strings)
    ]
    assert tokens == [list("MKTVL"), [], list("日本語"), [], list("e\u0301\x00"), ["b"]]
    assert split(tokenizer_of(CharacterTokenizer, ops), []) == []


def test_bytes_that_are_not_utf8_are_tokens():
    strings = [b"a\xff\xfeb", b"\xe2\x80", b"\xf0\x9f\x98 x", b"\xed\xa0\x80"]
    rows = split(tokenizer_of(CharacterTokenizer), strings)
    assert rows[:3] == [[b"a", b"\xff", b"\xfe", b"b"], [b"\xe2\x80"], [b"\xf0\x9f\x98", b"x"]]
    assert b"".join(rows[3]) == strings[3]


@settings(deadline=None, max_examples=60)
@given(texts)
def test_the_tokens_are_pythons_characters(string):
    (row,) = split(tokenizer_of(CharacterTokenizer), [string.encode()])
    assert [token.decode() for token in row] == list("".join(string.split()))


@settings(deadline=None, max_examples=60)
@given(noise)
def test_the_bytes_are_those_of_the_words(string):
    (row,) = split(tokenizer_of(CharacterTokenizer), [string])
    assert b"".join(row) == b"".join(python_split(string))


def test_a_protein_of_3000_residues(small_folder):
    elmo = Elmo.from_pretrained(small_folder, tokenizer="characters")
    letters = np.random.default_rng(0).choice(list("ACDEFGHIKLMNPQRSTVWY"), 3000)
    protein, other = "".join(letters), "".join([*letters[:-1], "X"])
    vectors, changed = elmo.embed([protein, other], layers="sum")
    assert vectors.shape == (3000, elmo.config.output_dim) and np.isfinite(vectors).all()
    differences = np.abs(vectors - changed).max(axis=1)
    assert differences[-1] > 1e-3 and differences[0] < 1e-6
    outputs = {name: x.numpy() for name, x in elmo([list(protein)]).items()}
    words = np.tile(outputs["word_emb"], 2)  # the same in both directions
    expected = words + outputs["lstm_outputs1"] + outputs["lstm_outputs2"]
    np.testing.assert_allclose(vectors, expected[0], atol=1e-5)
