import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.output_names import OutputNames

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
