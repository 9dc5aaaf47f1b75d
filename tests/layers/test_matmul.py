import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.layers.matmul import matmul


@pytest.mark.parametrize("shape", [(5, 4), (2, 3, 4), (0, 4)])
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
