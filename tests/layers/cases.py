"""Every public layer, with what it is called on; and how a script runs on JAX."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from scripts import run_python

from keras_elmo import BiLM, CharCNNEmbedding, Highway, MaskedMean, ScalarMix

IDS = np.random.default_rng(0).integers(1, 262, (2, 4, 12)).astype(np.int32)
IDS[0, 3] = 0  # padding
FLOATS = np.random.default_rng(1).normal(size=(2, 4, 6)).astype(np.float32)
LAYERS = [FLOATS, np.tanh(FLOATS[::-1]), np.exp(FLOATS)]

WORDS = {"num_words": 261, "word_dim": 2}
RNN = {"use_skip_connections": False, "always_project": True, "loop": "rnn"}
make = functools.partial
CASES = {
    "CharCNNEmbedding": (make(CharCNNEmbedding, [(1, 3), (2, 4)], 5, 1, 6, "tanh"), IDS),
    "CharCNNEmbedding with words": (make(CharCNNEmbedding, [(1, 3)], 5, 0, 6, **WORDS), IDS),
    "Highway": (make(Highway, "tanh"), FLOATS),
    "BiLM": (make(BiLM, 8, 6, 1, 0.5, 0.4), FLOATS),
    "BiLM rnn": (make(BiLM, 4, 6, **RNN), FLOATS),
    "ScalarMix": (make(ScalarMix, True, [0.1, 0.2, 0.3], keras.regularizers.L2(0.1)), LAYERS),
    "MaskedMean": (MaskedMean, FLOATS),
}


def run_in_jax(script, folder, **arrays):
    """Runs a script on Keras's JAX backend, with arrays in the file `sys.argv[1]`."""
    pytest.importorskip("jax")
    np.savez(folder / "case.npz", **arrays)
    result = run_python("-c", script, folder / "case.npz", env={"KERAS_BACKEND": "jax"})
    assert result.returncode == 0, result.stderr[-3000:]


def functional(layer, data):
    inputs = tf.nest.map_structure(
        lambda x: keras.Input((None, *x.shape[2:]), dtype=x.dtype.name), data
    )
    return keras.Model(inputs, layer(inputs))
