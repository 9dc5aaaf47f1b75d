"""`FirstStep`: the loop over one token, from a zero state."""

from keras import ops

from keras_elmo.layers.loops import Loop


class FirstStep(Loop):
    """Runs the step once, for one token that begins every sentence (`<S>` or `</S>`).

    Nothing is multiplied with the recurrent kernel, since the state before is zero. The states of
    the argument are not read. Its own form is (1, features).
    """

    def enter(self, directions):
        return [x[:, 0] for x in directions]

    def run_layer(self, layers, directions, states):
        states = [
            layer.cell.make_step()(layer.cell.input_gates(x), None, None)
            for layer, x in zip(layers, directions, strict=True)
        ]
        return [m for m, _ in states], states

    def leave(self, directions):
        return ops.concatenate(directions, axis=-1)[:, None]
