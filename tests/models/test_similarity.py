import numpy as np
import pytest


@pytest.mark.usefixtures("untraced")
def test_vectors_of_the_length_1_and_their_cosine(elmo):
    texts = ["a b c", "d", "", "a b"]
    vectors = elmo.embed(texts, layers="default")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found = elmo.embed(texts, layers="default", normalize=True)
    np.testing.assert_allclose(found * lengths, vectors, atol=1e-6)
    cosines = found @ found.T
    np.testing.assert_allclose(np.diag(cosines), [1, 1, 0, 1], atol=1e-6)
    for other, text in enumerate(texts):
        similarity = elmo.similarity("a b c", text.split())
        assert isinstance(similarity, float)
        assert similarity == pytest.approx(cosines[0, other], abs=1e-6)
    for layers in ("elmo", ["default"]):
        with pytest.raises(ValueError, match="With `normalize=True`, `layers` must be"):
            elmo.embed(texts, layers=layers, normalize=True)
