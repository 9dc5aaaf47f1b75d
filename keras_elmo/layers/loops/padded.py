"""`PaddedLoop`: a loop of operations that TFLite has too (TensorFlow)."""

import tensorflow as tf

from keras_elmo.layers.loops import Loop


class PaddedLoop(Loop):
    """Runs both directions side by side over padded sentences, in one `tf.while_loop`.

    Every operation is among TFLite's own, for any number of rows, and of tokens from 1 on. Padding
    is computed and then passed over: the state stays as it was, and the output is zero.

    Its own form is (tokens, batch, features), in the order of the text: steps come first, so each
    is a slice of contiguous rows.

    Args:
        mask: bool, (batch, tokens).
    """

    def __init__(self, mask):
        self.is_real = tf.expand_dims(tf.transpose(mask), -1)  # (tokens, batch, 1)

    def enter(self, directions):
        # (batch, tokens, features) -> (tokens, batch, features)
        return [tf.where(self.is_real, tf.transpose(x, [1, 0, 2]), 0) for x in directions]

    def run_layer(self, layers, directions, states):
        cells = [layer.cell for layer in layers]
        input_gates = [cell.input_gates(x) for cell, x in zip(cells, directions, strict=True)]
        steps = [cell.make_step() for cell in cells]
        num_steps, batch_size = tf.unstack(tf.shape(self.is_real)[:2])
        blank = tf.zeros((num_steps, batch_size, cells[0].output_size), directions[0].dtype)

        def run_step(t, states, outputs):
            next_states, next_outputs = [], []
            for k, index in enumerate([t, num_steps - 1 - t]):  # the backward direction's is last
                m, c = states[k]
                is_real = tf.gather(self.is_real, index)  # (batch, 1)
                new_m, new_c = steps[k](tf.gather(input_gates[k], index), m, c)
                new_m.set_shape(m.shape)
                new_c.set_shape(c.shape)
                row = tf.where(is_real, new_m, 0)[None]
                next_outputs.append(tf.tensor_scatter_nd_update(outputs[k], [[index]], row))
                next_states.append((tf.where(is_real, new_m, m), tf.where(is_real, new_c, c)))
            return t + 1, next_states, next_outputs

        _, states, outputs = tf.while_loop(
            lambda t, *_: t < num_steps,
            run_step,
            [tf.constant(0), [tuple(pair) for pair in states], [blank, blank]],
        )
        return outputs, states

    def leave(self, directions):
        return tf.transpose(tf.concat(directions, -1), [1, 0, 2])
