"""`UnrolledLoop` and `FirstStepLoop`, which write their steps into the graph."""

from keras import ops

from keras_elmo.layers.loops import Loop, TimeMajorLoop
from keras_elmo.layers.matmul import with_kernel_gradient


class UnrolledLoop(TimeMajorLoop):
    """Writes all steps into the graph, one after another, for training on windows of text.

    A step in training takes less time than a `tf.while_loop` needs to store what the gradient of
    the step reads. Every token must be real, and both directions come in their order of reading.
    The number of tokens must be known when the graph is made.

    The loop's own form is (tokens, batch, features).

    Args:
        training: bool. Whether a gradient will be computed.
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


class FirstStepLoop(Loop):
    """Runs the step once, for the token with which every sentence begins (`<S>` or `</S>`).

    The state before is zero, so nothing is multiplied by the recurrent kernel. `run_layer` ignores
    its argument `states`. The loop's own form is (batch, features).
    """

    def enter(self, directions):
        # (batch, 1, features) -> (batch, features)
        return [x[:, 0] for x in directions]

    def run_layer(self, layers, directions, states):
        states = [
            layer.cell.make_step()(layer.cell.input_gates(x), None, None)
            for layer, x in zip(layers, directions, strict=True)
        ]
        return [m for m, _ in states], states

    def leave(self, directions):
        return ops.concatenate(directions, axis=-1)[:, None]  # (batch, 1, 2 * features)
