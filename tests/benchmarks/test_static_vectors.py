import numpy as np
import scipy.sparse
from scripts import load_script

static_vectors = load_script("benchmarks/static_vectors.py")
StaticVectors = static_vectors.StaticVectors


def test_mutual_information_of_a_small_table():
    counts = scipy.sparse.csr_matrix([[0.0, 6.0, 2.0], [6.0, 0.0, 2.0], [2.0, 2.0, 4.0]])
    result = static_vectors.positive_mutual_information(counts, smoothing=1.0).toarray()
    # p(0, 1) = 6/24, p(0) = p(1) = 8/24, so log(6/24 * 9) = log(9/4). The others are below 0 or 0.
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = np.log(9 / 4)
    expected[2, 2] = np.log(4 * 24 / 64)
    np.testing.assert_allclose(result, expected, atol=1e-6)


def test_pairs_are_counted_by_distance_and_within_a_sentence(tmp_path):
    (tmp_path / "text.txt").write_text("a b c\nc a\n")
    vectors = StaticVectors(tmp_path / "text.txt", dim=2, window=2, min_count=1)
    counts = vectors._count_pairs(["a b c", "c a"], 2).toarray()
    a, b, c = vectors._rows("abc")
    assert counts[a, b] == counts[b, c] == 1
    assert counts[a, c] == counts[c, a] == 0.5 + 1
    assert counts[a, a] == counts[b, b] == counts[c, c] == 0


def test_words_of_like_neighbours_have_like_vectors(tmp_path):
    sentences = {
        "we drink {} from a cup": ["tea", "milk", "water"],
        "they study one {} by night": ["book", "letter", "poem"],
    }
    lines = [text.format(noun) for text, nouns in sentences.items() for noun in nouns] * 20
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\nUnseen\n")
    vectors = StaticVectors(tmp_path / "text.txt", dim=4, min_count=5)
    tea, milk, book = next(vectors.embed_stream(["tea milk book"]))[0]

    def cosine(x, y):
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert cosine(tea, milk) > 0.9 > 0.5 > cosine(tea, book)
    # Words without a vector of their own: the lower-case form, or the mean of all.
    found = next(vectors.embed_stream([["TEA", "Unseen", "tea", "other"]]))
    assert found.shape == (1, 4, 4) and found.dtype == np.float32
    np.testing.assert_array_equal(found[0, 0], found[0, 2])
    np.testing.assert_array_equal(found[0, 1], found[0, 3])
    assert np.any(found[0, 1])
