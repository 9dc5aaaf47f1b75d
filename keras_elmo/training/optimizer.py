"""`Adagrad` and `Adam`.

A gradient is dense, or it holds rows of a table (`tf.IndexedSlices`), none of them twice; the
optimizers then touch these rows alone.
"""

import tensorflow as tf

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # of Adam, as in its paper


class Adagrad:
    """Adagrad. (Keras's own works over whole tables, and does not sum rows that occur twice.)

        accumulator += gradient^2  (it begins with 1)
        variable -= learning_rate * gradient / sqrt(accumulator)

    Reference: Duchi et al. 2011; `AdagradOptimizer` of TensorFlow 1.
    """

    LEARNING_RATE = 0.2  # the default

    def __init__(self, variables):
        self._variables = list(variables)
        self.accumulators = [tf.Variable(tf.ones_like(v), trainable=False) for v in variables]

    def apply(self, gradients, learning_rate):
        """Updates the variables by one gradient for each."""
        triples = zip(gradients, self._variables, self.accumulators, strict=True)
        for gradient, variable, accumulator in triples:
            arguments = {"var": variable.handle, "accum": accumulator.handle, "epsilon": 0.0}
            arguments["lr"] = learning_rate
            if isinstance(gradient, tf.IndexedSlices):
                tf.raw_ops.ResourceSparseApplyAdagradV2(
                    grad=gradient.values, indices=gradient.indices, **arguments
                )
            else:
                tf.raw_ops.ResourceApplyAdagradV2(grad=gradient, **arguments)


class Adam:
    """Adam, which leaves the means of a row without a gradient as they are ("lazy" Adam).

        mean = beta_1 * mean + (1 - beta_1) * gradient
        square = beta_2 * square + (1 - beta_2) * gradient^2
        rate = learning_rate * sqrt(1 - beta_2^step) / (1 - beta_1^step)
        variable -= rate * mean / (sqrt(square) + epsilon)

    Reference: Kingma and Ba 2015.
    """

    LEARNING_RATE = 0.001  # the default

    def __init__(self, variables):
        self._variables = list(variables)
        self.means, self.squares = (
            [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables] for _ in range(2)
        )
        self.step = tf.Variable(0.0, trainable=False)
        self.accumulators = [*self.means, *self.squares, self.step]  # for checkpoints

    def apply(self, gradients, learning_rate):
        """See `Adagrad.apply`."""
        self.step.assign_add(1.0)
        step = self.step.read_value()
        powers = tf.pow(_BETA_1, step), tf.pow(_BETA_2, step)
        rate = learning_rate * tf.sqrt(1 - powers[1]) / (1 - powers[0])
        for gradient, variable, mean, square in zip(
            gradients, self._variables, self.means, self.squares, strict=True
        ):
            if isinstance(gradient, tf.IndexedSlices):
                rows, values = gradient.indices, gradient.values
                new_mean = _BETA_1 * mean.sparse_read(rows) + (1 - _BETA_1) * values
                new_square = _BETA_2 * square.sparse_read(rows) + (1 - _BETA_2) * values**2
                update = rate * new_mean / (tf.sqrt(new_square) + _EPSILON)
                mean.scatter_update(tf.IndexedSlices(new_mean, rows))
                square.scatter_update(tf.IndexedSlices(new_square, rows))
                variable.scatter_sub(tf.IndexedSlices(update, rows))
            else:
                tf.raw_ops.ResourceApplyAdam(
                    var=variable.handle,
                    m=mean.handle,
                    v=square.handle,
                    beta1_power=powers[0],
                    beta2_power=powers[1],
                    lr=learning_rate,
                    beta1=_BETA_1,
                    beta2=_BETA_2,
                    epsilon=_EPSILON,
                    grad=gradient,
                )


OPTIMIZERS = {"adagrad": Adagrad, "adam": Adam}


def sum_repeated_rows(gradient):
    """A gradient in which each row of a table occurs once, with the sum of its values."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, index = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, index, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)
