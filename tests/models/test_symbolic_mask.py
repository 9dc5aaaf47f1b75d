import keras
import numpy as np
import pytest

import keras_elmo
from keras_elmo.models.symbolic_mask import give_symbolic_mask


def test_a_symbolic_output_has_the_mask_of_its_value():
    inputs = keras.Input((None,))
    x = keras.layers.Masking()(keras.layers.Reshape((-1, 1))(inputs))
    give_symbolic_mask(x)
    model = keras.Model(inputs, x._keras_mask)
    found = model(np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], np.float32))
    np.testing.assert_array_equal(found, [[True, False, True], [False, True, False]])


@pytest.mark.parametrize("layer", ["Elmo", "ElmoEmbedding"])
def test_joined_with_an_embedding(layer, small_folder):
    tokens = keras.Input((None,), dtype="string")
    if layer == "Elmo":
        elmo = keras_elmo.Elmo.from_pretrained(small_folder, tokenizer=None)(tokens)["elmo"]
    else:
        elmo = keras_elmo.ElmoEmbedding(small_folder, tokenizer=None)(tokens)
    numbers = keras.layers.StringLookup(vocabulary=["a", "b"], mask_token="")(tokens)
    vectors = keras.layers.Embedding(4, 3, mask_zero=True)(numbers)
    x = keras.layers.concatenate([elmo, vectors])
    x = keras.layers.Bidirectional(keras.layers.SimpleRNN(2, return_sequences=True))(x)
    model = keras.Model(tokens, x)
    together = model(keras_elmo.strings([["a", "b", "c"], ["b"]]).to_tensor(""))
    alone = model(keras_elmo.strings([["b"]]).to_tensor(""))
    np.testing.assert_allclose(together[1:, :1], alone, atol=1e-6)
    np.testing.assert_array_equal(together._keras_mask, [[True] * 3, [True, False, False]])
