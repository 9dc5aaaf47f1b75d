"""A small model whose weights the tests of `weights` write, damage and read."""

import numpy as np
from files import datasets

from keras_elmo import Elmo, ElmoConfig
from keras_elmo.weights import load_weights, save_weights

TINY = ElmoConfig(6, 4, character_dim=3, filters=[(1, 2), (2, 3)], num_highway=1)
WORDS = ["<S>", "</S>", "<UNK>", "the", "cat"]
CELL = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell"


class Parts:
    """A character encoder and a biLM with random weights."""

    def __init__(self, config, seed=0):
        model = Elmo(config, kernel_initializer="zeros")
        self.character_encoder, self.bilm = model.character_encoder, model.bilm
        self.variables = [*self.character_encoder.weights, *self.bilm.weights]
        self.randomize(seed)

    def randomize(self, seed):
        generator = np.random.default_rng(seed)
        for variable in self.variables:
            variable.assign(generator.normal(size=variable.shape))

    def arrays(self):
        return [variable.numpy().copy() for variable in self.variables]

    def load(self, file):
        load_weights(file, self.character_encoder, self.bilm)

    def save(self, file):
        save_weights(file, self.character_encoder, self.bilm)


def assert_same(arrays, others):
    for array, other in zip(arrays, others, strict=True):
        np.testing.assert_array_equal(array, other)


def assert_same_files(one, other):
    """Two weight files hold the same bits."""
    one, other = datasets(one), datasets(other)
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert (array.dtype, array.shape) == (other[name].dtype, other[name].shape), name
        assert array.tobytes() == other[name].tobytes(), name
