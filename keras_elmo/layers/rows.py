"""`take_rows`: rows of a table, with a gradient that every optimizer can use."""

from keras import ops

from keras_elmo.backend import ON_TENSORFLOW, tf


def take_rows(table, rows):
    """Computes `ops.take(table, rows, axis=0)`, int (N,), without reading the whole table.

    On TensorFlow the gradient holds each row once. That of `ops.take` repeats a row that is taken
    twice, and Keras's optimizers would square each part in the place of the sum.
    """
    if not ON_TENSORFLOW:
        return ops.take(table, rows, axis=0)
    distinct, index = tf.unique(rows)
    return tf.gather(tf.gather(getattr(table, "value", table), distinct), index)


def sum_repeated_rows(gradient):
    """A gradient of TensorFlow in which each row of a table occurs once, with its sum."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    rows, index = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, index, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)
