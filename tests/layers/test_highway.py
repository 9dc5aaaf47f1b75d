import keras
import numpy as np
import pytest

from keras_elmo import Highway


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_outputs_are_its_equation():
    layer, x = Highway(), np.random.normal(size=(4, 6)).astype(np.float32)
    layer.build(x.shape)
    for variable in layer.weights:
        variable.assign(np.random.normal(size=variable.shape))
    carry, carry_bias, transform, transform_bias = layer.get_weights()
    gate = sigmoid(x @ carry + carry_bias)
    expected = gate * np.maximum(x @ transform + transform_bias, 0) + (1 - gate) * x
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)


def test_both_kernels_have_initial_values_of_their_own():
    layer = Highway()
    layer.build((None, 8))
    carry, _, transform, _ = layer.get_weights()
    assert np.abs(carry - transform).max() > 0.1


def test_an_unknown_number_of_features_is_refused():
    with pytest.raises(ValueError, match=r"must be known.*Received: input shape \(None, None\)"):
        Highway()(keras.Input((None,)))


def test_it_starts_near_its_input():
    layer = Highway(kernel_initializer="zeros")
    x = np.random.normal(size=(4, 6)).astype(np.float32)
    # The gate is sigmoid(-2), and the transformed input is 0.
    np.testing.assert_allclose(layer(x), x * (1 - sigmoid(-2)), atol=1e-6)


def test_another_activation_is_applied_to_the_transformed_input():
    layer = Highway(activation="tanh", kernel_initializer="identity")
    x = np.random.normal(size=(4, 6)).astype(np.float32)
    gate = sigmoid(x - 2)
    np.testing.assert_allclose(layer(x), gate * np.tanh(x) + (1 - gate) * x, atol=1e-6)
