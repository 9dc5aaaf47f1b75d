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


def test_the_counts_of_contexts_are_smoothed():
    counts = scipy.sparse.csr_matrix([[3.0, 1.0], [13.0, 0.0]])
    result = static_vectors.positive_mutual_information(counts, smoothing=0.5).toarray()
    # The contexts' counts are 16 and 1, so p' is 4/5 and 1/5; p of the words is 4/17 and 13/17.
    expected = [[0, np.log(1 / 17 / (4 / 17 * 1 / 5))], [np.log(13 / 17 / (13 / 17 * 4 / 5)), 0]]
    np.testing.assert_allclose(result, expected, atol=1e-6)


def test_pairs_are_counted_by_distance_and_within_a_sentence():
    counts = static_vectors.count_pairs([[0, 1, 2], [2, 0], [0, -1, 1]], 3, window=2).toarray()
    assert counts.tolist() == [[0, 1 + 0.5, 0.5 + 1], [1 + 0.5, 0, 1], [0.5 + 1, 1, 0]]


def test_only_spaces_and_line_ends_split(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("a\u00a0b  c\u2028d\ne\n", encoding="utf-8")
    vectors = StaticVectors(path, dim=2, min_count=1)
    assert set(vectors.table[0]) == {"a\u00a0b", "c\u2028d", "e"}
    # A word that is near no other has the mean vector, like an unknown one.
    row_of, table = vectors.table
    np.testing.assert_array_equal(table[row_of["e"]], table[-1])
    assert vectors.name == "static vectors of text.txt (0.0 MB)"


def test_words_of_like_neighbours_have_like_vectors(tmp_path):
    sentences = {
        "we drink {} from a cup": ["tea", "milk", "water"],
        "they study one {} by night": ["book", "letter", "poem"],
    }
    lines = [text.format(noun) for text, nouns in sentences.items() for noun in nouns] * 20
    (tmp_path / "text.txt").write_text("\n".join(lines) + "\nUnseen\n")
    vectors = StaticVectors(tmp_path / "text.txt", dim=4, min_count=5)
    row_of, table = vectors.table
    tea, milk, book = (table[row_of[word]] for word in ("tea", "milk", "book"))

    def cosine(x, y):
        return x @ y / np.linalg.norm(x) / np.linalg.norm(y)

    assert cosine(tea, milk) > 0.9 > 0.5 > cosine(tea, book)
    assert table.shape == (len(row_of) + 1, 4) and table.dtype == np.float32
