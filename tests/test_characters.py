import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_elmo import characters
from keras_elmo.characters import boundary_ids, text_to_bytes, word_to_ids

BEGIN, END, PAD = 259, 260, 261


def test_boundaries_are_single_characters_between_the_word_marks():
    for size in (3, 50):
        begin, end = boundary_ids(size)
        assert begin == [BEGIN, 257, END] + [PAD] * (size - 3)
        assert end == [BEGIN, 258, END] + [PAD] * (size - 3)
    for call in (lambda size: word_to_ids("a", size), boundary_ids):
        for size in (2, 0, -1):
            with pytest.raises(ValueError, match=f"Received: max_characters={size}"):
                call(size)


@pytest.mark.parametrize(
    "text, data",
    [
        (b"a\xff\xc3".decode("utf-8", "surrogateescape"), b"a\xff\xc3"),
        ("a\udbffz", "a\ufffdz".encode()),  # no byte
        ("\udc80\ud800\udcff\udd00", b"\x80\xef\xbf\xbd\xff\xef\xbf\xbd"),
        (b"\xed\xa0\x80\x00", b"\xed\xa0\x80\x00"),
    ],
)
def test_lone_surrogates_become_bytes_and_bytes_stay(text, data):
    assert text_to_bytes(text) == data


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_str_has_bytes_surrogates_included(text):
    data = text_to_bytes(text)
    assert data == b"".join(map(text_to_bytes, text))


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=70), st.integers(3, 60))
@example(b"a" * 48, 50)  # fills the row
@example("a\u00e9".encode(), 4)  # cut inside of a character
@example(characters.BOS.encode(), 50)  # has no special meaning as a word
def test_a_word_is_begin_its_bytes_end_and_padding(data, size):
    word = data.decode("utf-8", "surrogateescape")
    assert text_to_bytes(word) == data
    row = [BEGIN, *(byte + 1 for byte in data[: size - 2]), END]
    for form in (word, data):
        assert word_to_ids(form, size) == row + [PAD] * (size - len(row))
