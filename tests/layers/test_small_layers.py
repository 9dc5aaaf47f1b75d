"""Highway, ScalarMix and MaskedMean."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo import Highway, MaskedMean, ScalarMix


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_highway_is_its_equation():
    layer, x = Highway(), np.random.normal(size=(4, 6)).astype(np.float32)
    layer.build(x.shape)
    for variable in layer.weights:
        variable.assign(np.random.normal(size=variable.shape))
    carry, carry_bias, transform, transform_bias = layer.get_weights()
    gate = sigmoid(x @ carry + carry_bias)
    expected = gate * np.maximum(x @ transform + transform_bias, 0) + (1 - gate) * x
    np.testing.assert_allclose(layer(x), expected, atol=1e-5)


def test_the_kernels_of_a_highway_layer_start_apart():
    layer = Highway()
    layer.build((None, 8))
    carry, _, transform, _ = layer.get_weights()
    assert np.abs(carry - transform).max() > 0.1


def test_highway_of_an_unknown_width():
    with pytest.raises(ValueError, match=r"must be known.*Received: input shape \(None, None\)"):
        Highway()(keras.Input((None,)))


def layers_of(count=3, shape=(2, 4, 5)):
    return [np.random.normal(size=shape).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 3, 25])
def test_scalar_mix_is_its_equation(count):
    layers = layers_of(count)
    scalars = np.random.normal(size=count)
    mix = ScalarMix(initial_scalars=scalars)
    mix(layers)
    mix.gamma.assign(0.7)
    weights = np.exp(scalars) / np.exp(scalars).sum()
    expected = 0.7 * sum(weight * layer for weight, layer in zip(weights, layers, strict=True))
    np.testing.assert_allclose(mix(layers), expected, atol=1e-6)


def test_scalar_mix_starts_as_the_average():
    layers = layers_of()
    np.testing.assert_allclose(ScalarMix()(layers), np.mean(layers, axis=0), atol=1e-6)


@pytest.mark.parametrize("as_list", [False, True])
def test_scalar_mix_normalises_over_what_is_not_masked(as_list):
    layers, mask = layers_of(), np.array([[True] * 3 + [False], [True] * 2 + [False] * 2])
    expected = 0
    for layer in layers:
        real = layer[mask]
        expected += (layer - real.mean()) / np.sqrt(real.var() + 1e-12) / 3
    given = [None, mask, mask] if as_list else mask
    result = ScalarMix(do_layer_norm=True)(layers, mask=given)
    np.testing.assert_allclose(result, expected, atol=1e-5)


def test_scalar_mix_normalises_a_batch_without_tokens():
    layers, mask = layers_of(), np.zeros((2, 4), bool)
    assert np.all(np.isfinite(ScalarMix(do_layer_norm=True)(layers, mask=mask)))


def test_scalar_mix_passes_its_mask_on():
    mask = tf.constant([[True, False]])
    assert ScalarMix().compute_mask([None] * 2, [None, mask]) is mask


def test_scalar_mix_regularises_its_scalars_alone():
    mix = ScalarMix(initial_scalars=[1.0, 2.0, 0.0], regularizer=keras.regularizers.L2(0.1))
    mix(layers_of())
    assert float(sum(mix.losses)) == pytest.approx(0.5)


def test_scalar_mix_can_be_frozen():
    mix = ScalarMix(trainable=False)
    mix(layers_of())
    assert mix.trainable_variables == [] and len(mix.non_trainable_variables) == 2


def test_scalar_mix_of_one_tensor():
    with pytest.raises(ValueError, match=r"mixes a list.*Received: a single input of shape"):
        ScalarMix()(layers_of()[0])


def test_scalar_mix_of_shapes_that_differ():
    with pytest.raises(ValueError, match=r"one shape.*\(2, 4, 5\), \(2, 4, 6\)"):
        ScalarMix()([*layers_of(1), *layers_of(1, (2, 4, 6))])
    with pytest.raises(ValueError, match=r"one shape.*\(2, 4, 5\), \(2, 1, 5\)"):
        ScalarMix()([*layers_of(1), *layers_of(1, (2, 1, 5))])


def test_scalar_mix_with_too_few_scalars():
    with pytest.raises(ValueError, match=r"one value for each input.*\[1.0\], and 3 inputs"):
        ScalarMix(initial_scalars=[1.0])(layers_of())


@keras.saving.register_keras_serializable("tests")
class Outer(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.mix = ScalarMix(initial_scalars=[1.0, 2.0])

    def call(self, x):
        return self.mix([x, 2 * x])


def test_scalar_mix_keeps_its_scalars_inside_another_layer():
    layer = Outer()
    layer(keras.Input((4, 5)))
    np.testing.assert_array_equal(layer.mix.scalars, [1.0, 2.0])


def test_scalar_mix_of_another_number_than_it_was_built_for():
    mix = ScalarMix()
    mix(layers_of(3))
    for count in (2, 4):
        with pytest.raises(ValueError, match=f"built for 3 inputs. Received: {count} inputs"):
            mix(layers_of(count))


def test_masked_mean_of_a_long_sentence_in_half_precision():
    for policy in ("mixed_float16", "mixed_bfloat16"):
        mean = MaskedMean(dtype=policy)(np.full((1, 5001, 2), 0.3, np.float32))
        np.testing.assert_allclose(tf.cast(mean, "float32"), 0.3, rtol=0.01)


def test_masked_mean_does_not_see_what_is_masked():
    x = np.array([[[1.0], [np.nan]]], np.float32)
    np.testing.assert_array_equal(MaskedMean()(x, mask=np.array([[True, False]])), [[1.0]])


def test_masked_mean():
    x = np.random.normal(size=(3, 4, 5)).astype(np.float32)
    mask = np.array([[True] * 4, [True, False, True, False], [False] * 4])
    result = MaskedMean()(x, mask=mask)
    np.testing.assert_allclose(result[0], x[0].mean(0), atol=1e-6)
    np.testing.assert_allclose(result[1], x[1, [0, 2]].mean(0), atol=1e-6)
    assert not np.any(result[2])
    np.testing.assert_allclose(MaskedMean()(x), x.mean(1), atol=1e-6)
