import numpy as np
import tensorflow as tf

from keras_elmo.layers.loops.time_major import TimeMajorLoop


def test_tokens_come_first_between_enter_and_leave():
    inputs = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    forward, backward = TimeMajorLoop().enter([tf.constant(inputs), tf.constant(2 * inputs)])
    np.testing.assert_array_equal(forward, inputs.swapaxes(0, 1))
    left = TimeMajorLoop().leave([forward, backward])
    np.testing.assert_array_equal(left, np.concatenate([inputs, 2 * inputs], -1))
