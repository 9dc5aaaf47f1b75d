import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Elmo


def test_tokens_of_sentences(elmo, small_folder):
    texts = ["The  cat sat .", "", b"na\xc3\xafve \xff", ("a b", "c")]
    tokens = elmo.tokenize(texts)
    assert tokens == [["The", "cat", "sat", "."], [], ["na\u00efve", "\udcff"], ["a b", "c"]]
    for one, other in zip(elmo.embed(tokens), elmo.embed(texts), strict=True):
        np.testing.assert_array_equal(one, other)
    assert elmo.tokenize(np.array(["a b"])) == elmo.tokenize(tf.constant("a b")) == [["a", "b"]]
    assert elmo.tokenize(text for text in ["a b"] * 300) == [["a", "b"]] * 300
    with pytest.raises(TypeError, match=r"pass \[sentence\]"):
        elmo.tokenize("one sentence")
    pretokenised = Elmo.from_pretrained(small_folder, tokenizer=None)
    assert pretokenised.tokenize(np.array([["a", "b"], ["c", ""]])) == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match="must be a list of tokens"):
        pretokenised.tokenize(["a b"])
