import numpy as np
import pytest

import keras_elmo
from keras_elmo import BiLanguageModel


def test_the_originals_initial_weights():
    config = keras_elmo.ElmoConfig(units=256, projection_dim=64, filters=[(1, 32), (3, 96)])
    model = BiLanguageModel(config, ["<S>", "</S>", "<UNK>", *map(str, range(2000))])
    model.initialize(3)
    encoder = model.character_encoder
    deviations = {
        1 / np.sqrt(3): encoder.character_embedding,
        0.05 / np.sqrt(3): encoder.convolution_kernels[1],
        128**-0.5: encoder.highway_layers[0].carry_kernel,
        128**-0.5 + 1e-9: encoder.projection_kernel,
        64**-0.5: model.softmax.kernel,
        np.sqrt(6 / (128 + 1024) / 3): model.bilm.cells("backward")[1].recurrent_kernel,
        np.sqrt(6 / (256 + 64) / 3): model.bilm.cells("forward")[0].projection_kernel,
    }
    for expected, variable in deviations.items():
        assert variable.numpy().std() == pytest.approx(expected, rel=0.05), variable.path
    assert np.all(encoder.highway_layers[1].carry_bias.numpy() == -2)
    assert not np.any(model.bilm.cells("forward")[0].bias.numpy())
    first = model.get_weights()
    model.initialize(3)
    assert all(map(np.array_equal, model.get_weights(), first))
    model.initialize(4)
    assert not np.array_equal(model.softmax.kernel.numpy(), first[-2])
