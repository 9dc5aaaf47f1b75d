import keras
import numpy as np
import pytest
from reference import sigmoid

from keras_elmo import Highway


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_outputs_are_its_equation(activation):
    layer, x = Highway(activation), np.random.normal(size=(4, 6)).astype(np.float32)
    layer.build(x.shape)
    assert np.abs(layer.carry_kernel.numpy() - layer.transform_kernel.numpy()).max() > 0.1
    for variable in layer.weights:
        variable.assign(np.random.normal(size=variable.shape))
    carry, carry_bias, transform, transform_bias = layer.get_weights()
    gate = sigmoid(x @ carry + carry_bias)
    transformed = x @ transform + transform_bias
    transformed = np.tanh(transformed) if activation == "tanh" else np.maximum(transformed, 0)
    np.testing.assert_allclose(layer(x), gate * transformed + (1 - gate) * x, atol=1e-5)


def test_it_starts_near_its_input():
    layer = Highway(kernel_initializer="zeros")
    x = np.random.normal(size=(4, 6)).astype(np.float32)
    # The gate is sigmoid(-2), and the transformed input is 0.
    np.testing.assert_allclose(layer(x), x * (1 - sigmoid(-2)), atol=1e-6)


def test_an_unknown_number_of_features_is_refused():
    with pytest.raises(ValueError, match=r"Received: input shape \(None, None\)"):
        Highway()(keras.Input((None,)))
