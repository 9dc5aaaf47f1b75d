import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import characters
from keras_elmo.models import token_encoder
from keras_elmo.models.kernel_rounding import KernelRounding
from keras_elmo.models.token_encoder import TokenEncoder, padded_words, with_boundaries
from keras_elmo.text.character_ids import ByteScheme

WORDS = [b"a", b"na\xc3\xafve", b"", b"x" * 90, b"<S>", b"cat", b"dog"]


@pytest.fixture(scope="module")
def encoder():
    """Each word's embedding is its character ids."""
    return TokenEncoder(lambda ids: tf.cast(ids, tf.float32), ByteScheme(12), KernelRounding(None))


def test_the_boundaries_come_first(encoder):
    rows = encoder.from_words(tf.constant(WORDS)).numpy()
    expected = [*characters.boundary_ids(12), *(characters.word_to_ids(w, 12) for w in WORDS)]
    np.testing.assert_array_equal(rows, expected)


def test_many_words_are_encoded_in_parts(encoder, monkeypatch):
    whole = encoder.from_words(tf.constant(WORDS))
    for size in (1, 3, 7, 100):
        monkeypatch.setattr(token_encoder, "WORDS_PER_CALL", size)
        np.testing.assert_array_equal(encoder.from_many_words(WORDS), whole)
    assert encoder.from_many_words([]).shape == (2, 12)


@pytest.mark.parametrize("seed", range(5))
def test_sentences_as_grids(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 6, 4)
    words = rng.integers(0, 50, lengths.sum())
    flat = tf.constant(words, tf.int32), tf.constant(lengths, tf.int64)
    grid = with_boundaries(*flat).numpy()
    assert grid.shape == (4, lengths.max() + 2)
    for row, tokens in zip(grid, np.split(words, np.cumsum(lengths)[:-1]), strict=True):
        sentence = [0, *(tokens + 2), 1]
        np.testing.assert_array_equal(row, sentence + [0] * (len(row) - len(sentence)))
    inner = padded_words(*flat).numpy()
    assert inner.shape == (4, lengths.max())
    for row, tokens in zip(inner, np.split(words, np.cumsum(lengths)[:-1]), strict=True):
        np.testing.assert_array_equal(row, [*(tokens + 2)] + [0] * (len(row) - len(tokens)))


def test_embeddings_of_single_words(elmo):
    words = ["the", "naïve", "x" * 70, "a", "the"]
    expected = elmo(words)["word_emb"][:, 0].numpy()
    found = elmo.token_embeddings(words)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert elmo.token_embeddings([]).shape == (0, 8)
    with pytest.raises(ValueError, match="words"):
        elmo.token_embeddings("the")
    with pytest.raises(ValueError, match="'The cat sat' as a token"):
        elmo.token_embeddings(["The cat sat"])
    with pytest.warns(UserWarning, match="'New York' as a token"):
        vectors = elmo.token_embeddings(["a", "b", "New York"])
    alone = elmo.token_embeddings(tf.constant(["New York"]))
    np.testing.assert_allclose(alone, vectors[2:], atol=1e-6)
