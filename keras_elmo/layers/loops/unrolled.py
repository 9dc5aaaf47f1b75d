"""`UnrolledLoop`: windows of one known length, without a loop (TensorFlow)."""

import tensorflow as tf

from keras_elmo.layers.loops import Loop


class UnrolledLoop(Loop):
    """Writes all steps into the graph, one after another, for training on windows of text.

    A step is short in training, and what a loop stores for its gradient would cost more than the
    step. Every token is real, and both directions come in their order of reading.

    Its own form is (tokens, batch, features): steps come first, so each is a slice of contiguous
    rows. The number of tokens must be known when the graph is made.

    Args:
        training: bool. Whether a gradient will be asked for.
    """

    def __init__(self, training):
        self.training = training

    def enter(self, directions):
        return [tf.transpose(x, [1, 0, 2]) for x in directions]

    def run_layer(self, layers, directions, states):
        outputs, next_states = [], []
        for layer, x, (m, c) in zip(layers, directions, states, strict=True):
            rows, step = [], layer.cell.make_step(fast_gradient=self.training)
            for input_gates in tf.unstack(layer.cell.input_gates(x, self.training)):
                m, c = step(input_gates, m, c)
                rows.append(m)
            outputs.append(tf.stack(rows))
            next_states.append((m, c))
        return outputs, next_states

    def leave(self, directions):
        return tf.transpose(tf.concat(directions, -1), [1, 0, 2])
