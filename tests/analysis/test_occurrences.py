import numpy as np
import pytest

from keras_elmo.analysis.occurrences import find_occurrences

SENTENCES = [
    "They sat on the bank of the river .",
    "No word of it .",
    "",
    "The Bank and the bank lent money .",
]


def test_occurrences_have_their_places_and_vectors(elmo):
    found = find_occurrences(elmo, SENTENCES, "bank")
    assert found.line_numbers == [1, 4]
    shape = found.vectors.shape
    assert repr(found) == f"<Occurrences: 2 in 2 sentences, vectors of shape {shape}>"
    assert found.context(1) == (["The", "Bank", "and", "the"], "bank", ["lent", "money", "."])
    expected = [elmo.embed([SENTENCES[k]], layers="all")[0][:, 4] for k in (0, 3)]
    np.testing.assert_allclose(found.vectors, np.stack(expected, 1), atol=1e-6)


def test_several_words_case_and_limit(elmo):
    found = find_occurrences(elmo, iter(SENTENCES), "BANK", ignore_case=True)
    assert [found.context(k)[1] for k in range(len(found))] == ["bank", "Bank", "bank"]
    found = find_occurrences(elmo, SENTENCES, ["river", "money"])
    assert [found.context(k)[1] for k in range(len(found))] == ["river", "money"]
    found = find_occurrences(elmo, SENTENCES, "the", limit=2)
    assert found.line_numbers == [1, 1] and found.vectors.shape == (3, 2, 16)
    assert len(find_occurrences(elmo, SENTENCES)) == 22
    # A word that only comes after the limit is no error.
    assert len(find_occurrences(elmo, SENTENCES, ["the", "lent"], limit=1)) == 1


@pytest.mark.parametrize(
    "sentences, words, error, message",
    [
        (SENTENCES, "boat", ValueError, "'boat' does not occur"),
        (SENTENCES, ["bank", "RIVER"], ValueError, "'RIVER' occurs in another case"),
        (SENTENCES, "the bank", ValueError, "'the bank' is not one token"),
        (["", " "], None, ValueError, "without any"),
    ],
)
def test_absent_words_are_named(elmo, sentences, words, error, message):
    with pytest.raises(error, match=message):
        find_occurrences(elmo, sentences, words)


def test_nearest_are_those_of_the_cosines(elmo, monkeypatch):
    monkeypatch.setattr("keras_elmo.analysis.occurrences.ROWS_PER_PRODUCT", 3)
    found = find_occurrences(elmo, SENTENCES)
    neighbours, cosines = found.nearest(2, count=4)
    vectors = found.vectors[2] / np.linalg.norm(found.vectors[2], axis=1, keepdims=True)
    expected = vectors @ vectors.T
    np.fill_diagonal(expected, -2)
    order = np.argsort(-expected, axis=1, kind="stable")[:, :4]
    np.testing.assert_array_equal(neighbours, order)
    np.testing.assert_allclose(cosines, np.take_along_axis(expected, order, 1), atol=1e-6)
    # Layer 0 knows no context: the same words are equal, and the first of the text comes first.
    found = find_occurrences(elmo, SENTENCES, "the")
    assert found.nearest(0, count=9)[0].tolist() == [[1, 2], [0, 2], [0, 1]]
    with pytest.raises(ValueError, match="at least two"):
        find_occurrences(elmo, SENTENCES, "river").nearest(1)
