import keras
import numpy as np
import pytest

from keras_elmo import ScalarMix


def layers_of(count=3, shape=(2, 4, 5)):
    return [np.random.normal(size=shape).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("count", [2, 25])
def test_outputs_are_its_equation(count):
    layers = layers_of(count)
    scalars = np.random.normal(size=count)
    mix = ScalarMix(initial_scalars=scalars)
    mix(layers)
    mix.gamma.assign(0.7)
    weights = np.exp(scalars) / np.exp(scalars).sum()
    expected = 0.7 * sum(weight * layer for weight, layer in zip(weights, layers, strict=True))
    np.testing.assert_allclose(mix(layers), expected, atol=1e-6)
    # Without initial scalars it starts as the average.
    np.testing.assert_allclose(ScalarMix()(layers), np.mean(layers, axis=0), atol=1e-6)


@pytest.mark.parametrize("as_list", [False, True])
def test_layer_norm_is_over_the_unmasked_elements(as_list):
    layers, mask = layers_of(), np.array([[True] * 3 + [False], [True] * 2 + [False] * 2])
    expected = 0
    for layer in layers:
        real = layer[mask]
        expected += (layer - real.mean()) / np.sqrt(real.var() + 1e-12) / 3
    result = ScalarMix(do_layer_norm=True)(layers, mask=[None, mask, mask] if as_list else mask)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    nothing = ScalarMix(do_layer_norm=True)(layers, mask=np.zeros((2, 4), bool))
    assert np.all(np.isfinite(nothing))


def test_only_the_scalars_are_regularised():
    mix = ScalarMix(initial_scalars=[1.0, 2.0, 0.0], regularizer=keras.regularizers.L2(0.1))
    mix(layers_of())
    assert float(sum(mix.losses)) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "scalars, inputs, message",
    [
        (None, layers_of()[0], "a list.*Received: a single input of shape"),
        (None, [*layers_of(1), *layers_of(1, (2, 4, 6))], r"\(2, 4, 5\), \(2, 4, 6\)"),
        ([1.0], layers_of(), r"`initial_scalars`.*\[1.0\], and 3 inputs"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(scalars, inputs, message):
    with pytest.raises(ValueError, match=message):
        ScalarMix(initial_scalars=scalars)(inputs)


def test_another_number_of_inputs_than_it_was_built_for_is_refused():
    mix = ScalarMix()
    mix(layers_of(3))
    with pytest.raises(ValueError, match="3 inputs.*Received: 2 inputs"):
        mix(layers_of(2))
