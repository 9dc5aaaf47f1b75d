"""`PaddedLoop`: a TensorFlow loop, made only of operations that TFLite also has."""

import tensorflow as tf

from keras_elmo.layers.loops import TimeMajorLoop


class PaddedLoop(TimeMajorLoop):
    """Runs both directions side by side over padded sentences, in one `tf.while_loop`.

    All operations are TFLite's own. A batch may have any positive number of rows and of tokens.
    Padding is computed, and the result is discarded: the state does not change, and the output is
    zero.

    The loop's own form is (tokens, batch, features), in the order of the text.

    Args:
        mask: bool, (batch, tokens).
        training: bool. It changes nothing in this loop.
    """

    def __init__(self, mask, training=False):
        self.is_real = tf.expand_dims(tf.transpose(mask), -1)  # (tokens, batch, 1)

    def enter(self, directions):
        return [tf.where(self.is_real, x, 0) for x in super().enter(directions)]

    def run_layer(self, layers, directions, states):
        cells = [layer.cell for layer in layers]
        input_gates = [cell.input_gates(x) for cell, x in zip(cells, directions, strict=True)]
        steps = [cell.make_step() for cell in cells]
        num_steps, batch_size = tf.unstack(tf.shape(self.is_real)[:2])
        shape = (num_steps, batch_size, cells[0].output_size)
        zero_outputs = tf.zeros(shape, directions[0].dtype)

        def run_step(t, states, outputs):
            next_states, next_outputs = [], []
            # The backward direction starts at the last token.
            for k, index in enumerate([t, num_steps - 1 - t]):
                m, c = states[k]
                is_real = tf.gather(self.is_real, index)  # (batch, 1)
                new_m, new_c = steps[k](tf.gather(input_gates[k], index), m, c)
                new_m.set_shape(m.shape)
                new_c.set_shape(c.shape)
                output = tf.where(is_real, new_m, 0)[None]  # (1, batch, features)
                next_outputs.append(tf.tensor_scatter_nd_update(outputs[k], [[index]], output))
                next_states.append((tf.where(is_real, new_m, m), tf.where(is_real, new_c, c)))
            return t + 1, next_states, next_outputs

        _, states, outputs = tf.while_loop(
            lambda t, *_: t < num_steps,
            run_step,
            [tf.constant(0), [tuple(pair) for pair in states], [zero_outputs, zero_outputs]],
        )
        return outputs, states
