"""`FirstStepLoop`: the loop over one token, from a zero state."""

from keras import ops

from keras_elmo.layers.loops import Loop


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
