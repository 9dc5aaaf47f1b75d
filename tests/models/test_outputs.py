import dataclasses
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_elmo
from keras_elmo.models.outputs import LastMask, OutputNames, give_symbolic_mask

OTHERS = {"default", "mask", "sequence_len", "tokens"}


def test_names_and_shapes(small_config):
    names = OutputNames(small_config, num_mixes=2, num_boundaries=2)
    assert names.mixes == ["elmo", "elmo_2"]
    assert names.sequences == ["word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "elmo_2"]
    specs = names.specs(4, 9, "bfloat16")
    shapes = {name: spec.shape for name, spec in specs.items()}
    assert set(shapes) == {*names.sequences, *OTHERS}
    assert shapes["word_emb"] == (4, 11, 8) and shapes["elmo_2"] == (4, 11, 16)
    assert shapes["default"] == (4, 16) and shapes["sequence_len"] == (4,)
    assert names.specs(None, None, "float32")["mask"].shape == (None, None)
    dtypes = {name: spec.dtype for name, spec in specs.items() if spec.dtype != "bfloat16"}
    assert dtypes == {"mask": "bool", "sequence_len": "int32", "tokens": "string"}


def test_only_outputs_of_tokens_have_a_mask(small_config):
    config = dataclasses.replace(small_config, num_layers=1)
    masks = OutputNames(config, num_mixes=1, num_boundaries=0).masks("mask")
    assert {name for name, mask in masks.items() if mask} == {"word_emb", "lstm_outputs1", "elmo"}
    assert {name for name, mask in masks.items() if mask is None} == OTHERS


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


def test_a_mask_is_taken_once_by_the_inputs_of_its_call():
    last, inputs = LastMask(), object()
    last.keep(inputs, "mask")
    assert last.take(object()) is None
    assert last.take(inputs) is None  # the first question used it up
    last.keep(inputs, "mask")
    found = []
    thread = threading.Thread(target=lambda: found.append(last.take(inputs)))
    thread.start()
    thread.join()
    assert found == [None] and last.take(inputs) == "mask"


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
