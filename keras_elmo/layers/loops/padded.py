"""`PaddedLoop`: a TensorFlow loop, made only of operations that TFLite also has."""

import tensorflow as tf

from keras_elmo.layers.loops import TimeMajorLoop


class PaddedLoop(TimeMajorLoop):
    """Runs both directions side by side over padded sentences, in one `tf.while_loop`.

    All operations are TFLite's own. A batch may have any positive number of rows and of tokens.
    Padding is computed, and the result is discarded. Without a mask all tokens are real, and
    `is_backward_reversed` is as in `PackedLoop`.
    """

    def __init__(self, mask, training=False, is_backward_reversed=True):
        # (tokens, batch, 1)
        self.is_real = None if mask is None else tf.expand_dims(tf.transpose(mask), -1)
        self.is_backward_reversed = is_backward_reversed

    def enter(self, directions):
        directions = super().enter(directions)
        if self.is_real is None:
            return directions
        return [tf.where(self.is_real, x, 0) for x in directions]

    def run_layer(self, layers, directions, states):
        cells = [layer.cell for layer in layers]
        # In two axes LiteRT's products add the bias. One of all gates is slower: parts are copied.
        input_gates = [
            cell.input_gates(tf.reshape(x, (-1, x.shape[-1])), splits_gates=True)
            for cell, x in zip(cells, directions, strict=True)
        ]
        steps = [cell.make_step(splits_gates=True) for cell in cells]
        num_steps, num_rows, _ = tf.unstack(tf.shape(directions[0]))
        shape = (num_steps, num_rows, cells[0].units)
        input_gates = [[tf.reshape(gate, shape) for gate in gates] for gates in input_gates]
        # TFLite can write into an array only if it is made from a tensor.
        arrays = [
            tf.TensorArray(
                x.dtype, num_steps, element_shape=(x.shape[1], cell.output_size)
            ).unstack(tf.zeros_like(x))
            for cell, x in zip(cells, directions, strict=True)
        ]

        def run_step(t, states, outputs):
            next_states, next_outputs = [], []
            last = num_steps - 1 - t if self.is_backward_reversed else t
            for k, (index, (m, c)) in enumerate(zip([t, last], states, strict=True)):
                gates = [tf.gather(gate, index) for gate in input_gates[k]]
                output, new_c = steps[k](gates, m, c)
                output.set_shape(m.shape)
                new_c.set_shape(c.shape)
                new_m = output
                if self.is_real is not None:
                    is_real = tf.gather(self.is_real, index)  # (batch, 1)
                    output = tf.where(is_real, new_m, 0)
                    new_m, new_c = tf.where(is_real, new_m, m), tf.where(is_real, new_c, c)
                next_outputs.append(outputs[k].write(index, output))
                next_states.append((new_m, new_c))
            return t + 1, next_states, next_outputs

        _, states, arrays = tf.while_loop(
            lambda t, *_: t < num_steps,
            run_step,
            [tf.constant(0), [tuple(pair) for pair in states], arrays],
        )
        outputs = [array.stack() for array in arrays]
        for x, output in zip(directions, outputs, strict=True):
            output.set_shape(x.shape)
        return outputs, states
