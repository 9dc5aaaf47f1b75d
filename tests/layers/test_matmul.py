import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.layers.matmul import (
    as_factor,
    matmul,
    using_matmul_dtype,
    with_fast_gradient,
    with_kernel_gradient,
)


@pytest.mark.parametrize("shape", [(2, 3, 4), (0, 4)])
def test_values_and_gradients_are_those_of_a_plain_product(shape):
    rng = np.random.default_rng(0)
    x, kernel = tf.constant(rng.normal(size=shape)), tf.Variable(rng.normal(size=(4, 6)))

    def run(fast_gradient):
        with tf.GradientTape(persistent=True) as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = matmul(x, kernel, fast_gradient)
                loss = tf.reduce_sum(tf.sin(y))
            gradients = tape.gradient(loss, [x, kernel])
            second = tf.reduce_sum(gradients[0] ** 2)
        return [y, *map(tf.convert_to_tensor, gradients), outer.gradient(second, x)]

    for wrap in (lambda f: f, tf.function):
        for one, other in zip(wrap(run)(True), run(False), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(("dtype", "is_exact"), [(None, True), ("bfloat16", False)])
def test_one_product_is_the_gradient_of_many(dtype, is_exact):
    """Each product reads the result of the one before. Its rounding is that of one product."""
    rng = np.random.default_rng(1)
    sums, first, kernel = (
        tf.constant(rng.normal(size=shape), "float32") for shape in [(7, 5, 4), (5, 4), (4, 4)]
    )

    def run(is_one):
        y, factors, total, fixed = first, [], sums, kernel
        with tf.GradientTape() as tape, using_matmul_dtype(dtype if is_one else None):
            tape.watch([sums, kernel])
            if is_one:
                total = with_kernel_gradient(sums, kernel, factors)
                fixed = tf.stop_gradient(kernel)
            for part in tf.unstack(total):
                factors.append(y)
                y = tf.sin(part + y @ fixed)
        return [y, *tape.gradient(y, [sums, kernel])]

    expected = run(False)
    for wrap in (lambda f: f, tf.function):
        *same, gradient = wrap(run)(True)
        for one, other in zip(same, expected, strict=False):
            np.testing.assert_allclose(one, other, atol=1e-6)
        assert gradient.dtype == "float32"
        rounded = tf.cast(tf.cast(gradient, "bfloat16"), "float32")
        assert np.array_equal(gradient, rounded) != is_exact
        tolerance = 1e-5 if is_exact else 0.02
        np.testing.assert_allclose(gradient, expected[-1], atol=tolerance, rtol=tolerance)


def test_products_in_another_dtype():
    """Factors are rounded, and so is each product; a gradient keeps the dtype of its factor."""
    rng = np.random.default_rng(0)
    x, kernel, upstream = (
        tf.constant(rng.normal(size=shape), "float32") for shape in [(3, 5, 8), (8, 6), (3, 5, 6)]
    )

    def rounded(value):
        return tf.cast(tf.cast(value, "bfloat16"), "float32").numpy()

    def run():
        with tf.GradientTape() as tape, using_matmul_dtype("bfloat16"):
            tape.watch([x, kernel])
            y = matmul(x, with_fast_gradient(kernel))
        return [y, *tape.gradient(y, [x, kernel], output_gradients=upstream)]

    x_rounded, kernel_rounded, upstream_rounded = map(rounded, (x, kernel, upstream))
    expected = [
        x_rounded @ kernel_rounded,
        upstream_rounded @ kernel_rounded.T,
        x_rounded.reshape(-1, 8).T @ upstream_rounded.reshape(-1, 6),
    ]
    for wrap in (lambda f: f, tf.function):
        for found, wanted in zip(wrap(run)(), expected, strict=True):
            assert found.dtype == "float32"
            np.testing.assert_array_equal(found, rounded(found))
            np.testing.assert_allclose(found, wanted, rtol=2**-7, atol=1e-2)
            assert np.abs(wanted - rounded(wanted)).max() > 0


def test_products_in_another_dtype_end_with_the_context():
    x = tf.constant([[1 + 2**-10]])  # 1 in bfloat16
    for fast_gradient in (False, True):
        with using_matmul_dtype("bfloat16"):
            with using_matmul_dtype(None):  # the dtype stays that of the context around it
                product = matmul(x, x, fast_gradient)
            assert product == 1 and product.dtype == x.dtype
        assert matmul(x, x, fast_gradient) != 1


def test_a_kernel_that_was_rounded_before_is_taken():
    """It is given transposed. The doubled values tell it from the kernel itself."""
    rng = np.random.default_rng(0)
    values = rng.integers(-4, 4, (3, 4))  # Their products are exact in bfloat16.
    kernel = keras.Variable(values, dtype="float32")
    known = {id(kernel): tf.constant(2 * values.T, "bfloat16")}
    for shape in [(2, 5, 3), (0, 3)]:
        x = rng.integers(-4, 4, shape)
        once, twice = x @ values, x @ (2 * values)
        x = tf.constant(x, "float32")
        with using_matmul_dtype("bfloat16", lambda variable, _: known.get(id(variable))):
            with using_matmul_dtype("bfloat16"):  # the function stays that of the context around it
                factor = as_factor(kernel, "float32")
                for given in (kernel, factor, as_factor(factor, "float32")):
                    np.testing.assert_array_equal(matmul(x, given), twice)
                    traced = tf.function(lambda: matmul(x, given))  # noqa: B023
                    np.testing.assert_array_equal(traced(), twice)
            np.testing.assert_array_equal(matmul(x, keras.Variable(values, dtype="float32")), once)
        np.testing.assert_array_equal(matmul(x, kernel), once)
