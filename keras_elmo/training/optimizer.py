"""`Adagrad`, and the clipping of its gradients: dense ones, and those of a few rows of a table."""

import tensorflow as tf


class Adagrad(tf.Module):
    """Adagrad, which touches only the rows of a table that have a gradient.

        accumulator += gradient^2
        variable -= learning_rate * gradient / sqrt(accumulator)

    Keras's own works over whole tables, and does not add up rows that occur twice.

    Args:
        variables: list of `tf.Variable`s.
        initial_accumulator: positive float.

    Reference: Duchi et al. 2011; `AdagradOptimizer` of TensorFlow 1.
    """

    def __init__(self, variables, initial_accumulator=1.0):
        super().__init__()
        self.variables_ = list(variables)
        self.accumulators = [
            tf.Variable(tf.fill(v.shape, tf.cast(initial_accumulator, v.dtype)), trainable=False)
            for v in self.variables_
        ]

    def apply(self, gradients, learning_rate):
        """Updates the variables.

        Args:
            gradients: list of tensors or `IndexedSlices`, one a variable, from `clip`: no row
                twice.
            learning_rate: float32, ().
        """
        triples = zip(gradients, self.variables_, self.accumulators, strict=True)
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


def add_up(gradient):
    """A gradient in which no row of a table is there twice."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, index = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, index, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def clip(gradients, norm):
    """Gradients scaled down so that their norm all together is at most `norm`.

    Args:
        gradients: list of tensors or `IndexedSlices`, no row twice.
        norm: float or `None`: no clipping.

    Returns:
        The gradients, and the norm that they had, float32, ().
    """
    values = [g.values if isinstance(g, tf.IndexedSlices) else g for g in gradients]
    total = tf.linalg.global_norm(values)
    if norm is None:
        return gradients, total
    scale = norm / tf.maximum(total, norm)
    scaled = [
        tf.IndexedSlices(g.values * scale, g.indices, g.dense_shape)
        if isinstance(g, tf.IndexedSlices)
        else g * scale
        for g in gradients
    ]
    return scaled, total
