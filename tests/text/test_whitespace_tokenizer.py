from hypothesis import example, given, settings
from hypothesis import strategies as st
from text.tokenizer_cases import EDGES, SPACES, noise, python_split, split, texts, tokenizer_of

from keras_elmo import CharacterTokenizer, SpaceTokenizer, WhitespaceTokenizer


@settings(deadline=None, max_examples=100)
@given(st.lists(noise | texts.map(str.encode), max_size=4))
@example(EDGES)
@example([])
def test_whitespace_splits_any_bytes_as_python_does(strings):
    expected = [python_split(string) for string in strings]
    assert split(tokenizer_of(WhitespaceTokenizer), strings) == expected


@settings(deadline=None, max_examples=100)
@given(st.lists(noise, max_size=4))
@example([b"two\xc2\xa0words", b"", b"a \tb  c\n"])
@example(EDGES)
def test_space_splits_any_bytes_on_the_space_alone(strings):
    expected = [[word for word in string.split(b" ") if word] for string in strings]
    assert split(tokenizer_of(SpaceTokenizer), strings) == expected


# CharacterTokenizer


def test_each_character_but_spaces_is_a_token():
    strings = ["MKT VL", "", "日本\u3000語", SPACES, "e\u0301\x00", "b"]
    rows = split(tokenizer_of(CharacterTokenizer), strings)
    tokens = [[token.decode() for token in row] for row in rows]
    assert tokens == [list("MKTVL"), [], list("日本語"), [], list("e\u0301\x00"), ["b"]]
    assert split(tokenizer_of(CharacterTokenizer), []) == []


def test_bytes_that_are_not_utf8_are_tokens():
    strings = [b"a\xff\xfeb", b"\xe2\x80", b"\xf0\x9f\x98 x", b"\xed\xa0\x80"]
    rows = split(tokenizer_of(CharacterTokenizer), strings)
    assert rows[:3] == [[b"a", b"\xff", b"\xfe", b"b"], [b"\xe2\x80"], [b"\xf0\x9f\x98", b"x"]]
    assert b"".join(rows[3]) == strings[3]


@settings(deadline=None, max_examples=60)
@given(texts, noise)
def test_the_tokens_are_pythons_characters_and_all_bytes_of_the_words(string, data):
    tokens, row = split(tokenizer_of(CharacterTokenizer), [string.encode(), data])
    assert [token.decode() for token in tokens] == list("".join(string.split()))
    assert b"".join(row) == b"".join(python_split(data))
