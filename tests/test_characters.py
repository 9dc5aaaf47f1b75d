import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_elmo import characters
from keras_elmo.characters import boundary_ids, sentence_to_ids, text_to_bytes, word_to_ids

BEGIN, END, PAD = 259, 260, 261


def test_word_is_begin_bytes_end_and_word_padding():
    assert word_to_ids("cat") == [BEGIN, 100, 98, 117, END] + [PAD] * 45


def test_empty_word_is_its_two_marks():
    assert word_to_ids("") == [BEGIN, END] + [PAD] * 48


def test_word_of_48_bytes_fills_the_row():
    assert word_to_ids("a" * 48) == [BEGIN] + [98] * 48 + [END]


def test_longer_word_is_cut_to_48_bytes():
    assert word_to_ids("a" * 48 + "bcd") == word_to_ids("a" * 48)


def test_cut_falls_inside_a_character():
    # The 48th byte is the first of the two of "é" (C3 A9).
    assert word_to_ids("a" * 47 + "é") == [BEGIN] + [98] * 47 + [0xC3 + 1, END]


def test_every_byte_has_the_id_after_it():
    ids = [word_to_ids(bytes([byte]), 3)[1] for byte in range(256)]
    assert ids == list(range(1, 257))


def test_str_is_encoded_as_utf8_and_bytes_are_taken_as_they_are():
    assert word_to_ids("naïve 猫") == word_to_ids("naïve 猫".encode())
    assert word_to_ids(b"\xff\x00")[1:4] == [256, 1, END]


def test_boundary_strings_have_no_special_meaning_as_words():
    assert word_to_ids(characters.BOS) == word_to_ids(b"<S>")
    assert word_to_ids(characters.BOS) not in boundary_ids()


def test_boundaries_are_single_characters_between_the_word_marks():
    begin, end = boundary_ids()
    assert begin == [BEGIN, 257, END] + [PAD] * 47
    assert end == [BEGIN, 258, END] + [PAD] * 47


def test_ten_characters_leave_room_for_eight_bytes():
    assert word_to_ids("abc", 10) == [BEGIN, 98, 99, 100, END] + [PAD] * 5
    assert word_to_ids("abcdefghij", 10) == [BEGIN, *range(98, 106), END]
    assert [len(row) for row in sentence_to_ids(["a", "b" * 20], 10)] == [10] * 4


def test_three_characters_are_the_least():
    assert word_to_ids("ab", 3) == [BEGIN, 98, END]
    assert boundary_ids(3) == ([BEGIN, 257, END], [BEGIN, 258, END])


@pytest.mark.parametrize(
    "call", [lambda n: word_to_ids("a", n), boundary_ids, lambda n: sentence_to_ids([], n)]
)
@pytest.mark.parametrize("size", [2, 0, -1])
def test_fewer_than_three_characters_are_refused(call, size):
    with pytest.raises(ValueError, match=rf"at least 3 .*Received: max_characters={size}"):
        call(size)


def test_sentence_has_its_boundaries_around_its_words():
    begin, end = boundary_ids()
    words = ["The", b"cat"]
    assert sentence_to_ids(words) == [begin, word_to_ids("The"), word_to_ids("cat"), end]


def test_empty_sentence_is_its_two_boundaries():
    assert sentence_to_ids([]) == list(boundary_ids())


def test_escaped_bytes_become_those_bytes_again():
    assert text_to_bytes(b"a\xff\xc3".decode("utf-8", "surrogateescape")) == b"a\xff\xc3"


def test_lone_surrogates_become_the_three_bytes_of_their_number():
    assert text_to_bytes("\ud800") == b"\xed\xa0\x80"
    assert text_to_bytes("a\udbffz") == b"a\xed\xaf\xbfz"


def test_bytes_are_not_encoded_again():
    assert text_to_bytes(b"\xed\xa0\x80\x00") == b"\xed\xa0\x80\x00"


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=60))
def test_any_bytes_survive_decoding_and_encoding(data):
    assert text_to_bytes(data.decode("utf-8", "surrogateescape")) == data


@settings(deadline=None, max_examples=100)
@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_str_has_bytes_surrogates_included(text):
    data = text_to_bytes(text)
    assert isinstance(data, bytes)
    if data != text.encode("utf-8", "surrogatepass"):
        assert data == text.encode("utf-8", "surrogateescape")


@settings(deadline=None, max_examples=100)
@given(st.binary(max_size=70), st.integers(3, 60))
def test_row_holds_the_bytes_of_the_word_and_is_padded_to_its_length(word, size):
    row = word_to_ids(word, size)
    kept = word[: size - 2]
    assert row[: len(kept) + 2] == [BEGIN, *(byte + 1 for byte in kept), END]
    assert row[len(kept) + 2 :] == [PAD] * (size - 2 - len(kept))
    assert characters.PADDING not in row
    assert max(row) <= characters.NUM_CHARACTERS
