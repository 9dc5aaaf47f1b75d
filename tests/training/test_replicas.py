"""Without a strategy. Several replicas are tested in `test_distribution.py`."""

import numpy as np
import tensorflow as tf

from keras_elmo.training.replicas import Replicas


def test_without_a_strategy_there_is_one_replica():
    replicas = Replicas()
    assert replicas.count == 1 and replicas.local_indices == [0] and replicas.is_chief()
    state = replicas.make_values(lambda index: [tf.fill([2, 3], float(index)), tf.ones([2, 1])])
    gathered = replicas.gather(state)
    np.testing.assert_array_equal(gathered[0], np.zeros((2, 3)))
    np.testing.assert_array_equal(gathered[1], np.ones((2, 1)))
    result = tf.function(lambda x: replicas.run(lambda y: y + 1, (x,)))(tf.constant(1.0))
    assert float(replicas.first_local(result)) == 2.0
