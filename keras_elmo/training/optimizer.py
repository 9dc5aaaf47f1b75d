"""`Adagrad` and `Adam`, and the clipping of gradients.

A gradient is dense, or it holds rows of a table (`tf.IndexedSlices`).
"""

import tensorflow as tf


class Adagrad:
    """Adagrad, which touches only the rows of a table that have a gradient.

        accumulator += gradient^2
        variable -= learning_rate * gradient / sqrt(accumulator)

    Keras's own Adagrad works over whole tables, and does not sum the rows that occur twice.

    Args:
        variables: list of `tf.Variable`s.
        initial_accumulator: positive float.

    Reference: Duchi et al. 2011; `AdagradOptimizer` of TensorFlow 1.
    """

    LEARNING_RATE = 0.2  # the default

    def __init__(self, variables, initial_accumulator=1.0):
        self._variables = list(variables)
        self.accumulators = [
            tf.Variable(tf.fill(v.shape, tf.cast(initial_accumulator, v.dtype)), trainable=False)
            for v in self._variables
        ]

    def apply(self, gradients, learning_rate):
        """Updates the variables.

        Args:
            gradients: list of tensors or `IndexedSlices`, one a variable. No row occurs
                twice in it.
            learning_rate: float32, ().
        """
        triples = zip(gradients, self._variables, self.accumulators, strict=True)
        for gradient, variable, accumulator in triples:
            arguments = {
                "var": variable.handle,
                "accum": accumulator.handle,
                "lr": learning_rate,
                "epsilon": tf.zeros_like(learning_rate),
            }
            if isinstance(gradient, tf.IndexedSlices):
                tf.raw_ops.ResourceSparseApplyAdagradV2(
                    grad=gradient.values, indices=gradient.indices, **arguments
                )
            else:
                tf.raw_ops.ResourceApplyAdagradV2(grad=gradient, **arguments)


class Adam:
    """Adam, which touches only the rows of a table that have a gradient ("lazy" Adam).

        mean = beta_1 * mean + (1 - beta_1) * gradient
        square = beta_2 * square + (1 - beta_2) * gradient^2
        rate = learning_rate * sqrt(1 - beta_2^step) / (1 - beta_1^step)
        variable -= rate * mean / (sqrt(square) + epsilon)

    The means of a row that has no gradient in a step stay as they are.

    Args:
        variables: list of `tf.Variable`s.
        beta_1: float below 1. The share of the mean gradient that is kept from step to step.
        beta_2: float below 1. The share of the mean square that is kept from step to step.
        epsilon: positive float.

    Reference: Kingma and Ba 2015.
    """

    LEARNING_RATE = 0.001  # the default

    def __init__(self, variables, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
        self._variables = list(variables)
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.means, self.squares = (
            [tf.Variable(tf.zeros_like(v), trainable=False) for v in variables] for _ in range(2)
        )
        self.step = tf.Variable(0.0, trainable=False)
        # What a checkpoint must hold.
        self.accumulators = [*self.means, *self.squares, self.step]

    def apply(self, gradients, learning_rate):
        """See `Adagrad.apply`."""
        self.step.assign_add(1.0)
        step = self.step.read_value()
        powers = tf.pow(self.beta_1, step), tf.pow(self.beta_2, step)
        rate = learning_rate * tf.sqrt(1 - powers[1]) / (1 - powers[0])
        for gradient, variable, mean, square in zip(
            gradients, self._variables, self.means, self.squares, strict=True
        ):
            if isinstance(gradient, tf.IndexedSlices):
                rows, values = gradient.indices, gradient.values
                new_mean = self.beta_1 * mean.sparse_read(rows) + (1 - self.beta_1) * values
                new_square = self.beta_2 * square.sparse_read(rows) + (1 - self.beta_2) * values**2
                update = rate * new_mean / (tf.sqrt(new_square) + self.epsilon)
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
                    beta1=self.beta_1,
                    beta2=self.beta_2,
                    epsilon=self.epsilon,
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


def clip(gradients, norm):
    """Gradients scaled down so that the norm of all of them together is at most `norm`.

    Args:
        gradients: list of tensors or `IndexedSlices`. No row occurs twice in them.
        norm: float or `None`: no clipping.

    Returns:
        The gradients, and the norm that they had before, float32, ().
    """
    total = tf.linalg.global_norm(gradients)
    if norm is None:
        return gradients, total
    return tf.clip_by_global_norm(gradients, norm, total)
