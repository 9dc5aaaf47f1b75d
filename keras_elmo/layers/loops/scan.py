"""`ScanLoop`, which trains on windows of text on every backend."""

from keras import ops

from keras_elmo.layers.loops import TimeMajorLoop


class ScanLoop(TimeMajorLoop):
    """Runs a step along a window by `keras.ops.scan`, which XLA compiles once for all steps.

    Both directions come in their order of reading, and the real tokens come first in each row. The
    mask may be `None`: every token is real. `UnrolledLoop` gives the same, faster on TensorFlow.
    """

    def __init__(self, mask):
        # (tokens, batch, 1)
        self.is_real = None if mask is None else ops.expand_dims(ops.transpose(mask), -1)

    def run_layer(self, layers, directions, states):
        outputs, next_states = [], []
        for layer, x, state in zip(layers, directions, states, strict=True):
            step = layer.cell.make_step()

            def run_step(state, inputs, step=step):
                gates, *is_real = inputs
                new = list(step(gates, *state))
                if is_real:
                    pairs = zip(new, state, strict=True)
                    new = [ops.where(is_real[0], x, old) for x, old in pairs]
                    return new, ops.where(is_real[0], new[0], ops.zeros_like(new[0]))
                return new, new[0]

            inputs = [layer.cell.input_gates(x)]
            if self.is_real is not None:
                inputs.append(self.is_real)
            state, output = ops.scan(run_step, list(state), inputs)
            outputs.append(output)  # (tokens, batch, features)
            next_states.append(state)
        return outputs, next_states
