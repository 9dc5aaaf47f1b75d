import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import characters
from keras_elmo.models import token_encoder
from keras_elmo.models.kernel_rounding import KernelRounding
from keras_elmo.models.token_encoder import TokenEncoder
from keras_elmo.text.character_ids import ByteScheme

WORDS = [b"a", b"na\xc3\xafve", b"", b"x" * 90, b"<S>", b"cat", b"dog"]


@pytest.fixture(scope="module")
def encoder():
    """Each word's embedding is its character ids."""
    return TokenEncoder(lambda ids: tf.cast(ids, tf.float32), ByteScheme(12), KernelRounding(None))


def test_many_words_are_encoded_in_parts(encoder, monkeypatch):
    whole = [*characters.boundary_ids(12), *(characters.word_to_ids(w, 12) for w in WORDS)]
    for size in (3, 7, 100):
        monkeypatch.setattr(token_encoder, "WORDS_PER_CALL", size)
        np.testing.assert_array_equal(encoder.from_many_words(WORDS), whole)
    assert encoder.from_many_words([]).shape == (2, 12)


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
