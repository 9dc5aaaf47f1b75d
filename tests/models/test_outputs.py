import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.models.outputs import OutputNames


def test_names_and_shapes(small_config):
    names = OutputNames(small_config, num_mixes=2, num_boundaries=2)
    assert names.mixes == ["elmo", "elmo_2"]
    assert names.sequences == ["word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "elmo_2"]
    specs = names.specs(4, 9, "bfloat16")
    shapes = {name: spec.shape for name, spec in specs.items()}
    assert shapes["word_emb"] == (4, 11, 8) and shapes["elmo_2"] == (4, 11, 16)
    assert shapes["default"] == (4, 16) and shapes["sequence_len"] == (4,)
    assert names.specs(None, None, "float32")["mask"].shape == (None, None)
    dtypes = {name: spec.dtype for name, spec in specs.items() if spec.dtype != "bfloat16"}
    assert dtypes == {"mask": "bool", "sequence_len": "int32", "tokens": "string"}
    assert set(shapes) == {*names.sequences, "default", *dtypes}


@pytest.mark.parametrize("width", [5, tf.constant(5)])
def test_padding_adds_columns_alone(small_config, width):
    names = OutputNames(small_config, num_mixes=1, num_boundaries=2)
    outputs = {
        "elmo": tf.ones((2, 4, 16)),
        "mask": tf.constant([[True] * 4, [True, True, False, False]]),
        "tokens": tf.constant([["<S>", "a", "b", "</S>"], ["<S>", "</S>", "", ""]]),
        "default": tf.ones((2, 16)),
        "sequence_len": tf.constant([4, 2]),
    }
    padded = names.pad(outputs, width)
    for name, value in padded.items():
        if name in ("default", "sequence_len"):
            assert value is outputs[name]
            continue
        np.testing.assert_array_equal(value[:, :4], outputs[name])
        assert value.shape[1] == 7
        assert bool(tf.reduce_all(value[:, 4:] == tf.zeros_like(value[:, 4:])))


@pytest.mark.parametrize("layer", ["Elmo", "ElmoEmbedding"])
def test_joined_with_an_embedding(layer, one_layer_folder, untraced):
    """`Concatenate` takes the masks of its symbolic inputs while the model is made."""
    tokens = keras.Input((None,), dtype="string")
    elmo = keras_elmo.Elmo.from_pretrained(one_layer_folder, tokenizer=None)
    vectors = elmo(tokens)["elmo"] if layer == "Elmo" else keras_elmo.ElmoEmbedding(elmo)(tokens)
    numbers = keras.layers.StringLookup(vocabulary=["a", "b"], mask_token="")(tokens)
    x = keras.layers.concatenate([vectors, keras.layers.Embedding(4, 3, mask_zero=True)(numbers)])
    x = keras.layers.Bidirectional(keras.layers.SimpleRNN(2, return_sequences=True))(x)
    model = keras.Model(tokens, x)
    together = model(tf.constant([["a", "b", "c"], ["b", "", ""]]))
    np.testing.assert_allclose(together[1:, :1], model(tf.constant([["b"]])), atol=1e-6)
    np.testing.assert_array_equal(together._keras_mask, [[True] * 3, [True, False, False]])
