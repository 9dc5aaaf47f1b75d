"""`UnrolledLoop`, which writes its steps into the graph."""

from keras import ops

from keras_elmo.layers.loops import TimeMajorLoop
from keras_elmo.layers.matmul import with_kernel_gradient


class UnrolledLoop(TimeMajorLoop):
    """Writes all steps into the graph, one after another, for training on windows of text.

    A step in training takes less time than a `tf.while_loop` needs to store what the gradient of
    the step reads. Every token must be real, and both directions come in their order of reading.
    The number of tokens must be known. Without a gradient, states may be `None`, which is zero.
    """

    def __init__(self, training):
        self.training = training

    def run_layer(self, layers, directions, states):
        outputs, next_states = [], []
        for layer, x, (m, c) in zip(layers, directions, states, strict=True):
            cell, outputs_before = layer.cell, []
            input_gates = cell.input_gates(x, self.training)  # (tokens, batch, 4 * units)
            if self.training:
                input_gates = with_kernel_gradient(
                    input_gates, cell.recurrent_kernel, outputs_before
                )
            step = cell.make_step(fast_gradient=self.training, is_recurrent_fixed=self.training)
            for step_gates in ops.unstack(input_gates):
                outputs_before.append(m)
                m, c = step(step_gates, m, c)
            outputs.append(ops.stack([*outputs_before[1:], m]))  # (tokens, batch, features)
            next_states.append((m, c))
        return outputs, next_states
