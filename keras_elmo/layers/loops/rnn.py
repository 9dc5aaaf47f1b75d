"""`RNNLoop`: Keras's own loop, on every backend, which XLA can compile."""

from keras import ops

from keras_elmo.layers.loops import Loop


class RNNLoop(Loop):
    """Runs each direction with `keras.layers.RNN`. Tests compare the other loops with this one.

    The loop's own form is (batch, tokens, features), in the order of the text.
    """

    def __init__(self, mask, training=False):
        self.mask = mask

    def enter(self, directions):
        is_real = ops.expand_dims(self.mask, -1)  # (batch, tokens, 1)
        return [ops.where(is_real, x, ops.zeros_like(x)) for x in directions]

    def run_layer(self, layers, directions, states):
        outputs, next_states = [], []
        for layer, x, state in zip(layers, directions, states, strict=True):
            output, *state = layer(x, mask=self.mask, initial_state=list(state))
            # A layer with `go_backwards` returns its outputs from the last token to the first.
            outputs.append(ops.flip(output, axis=1) if layer.go_backwards else output)
            next_states.append(state)
        return outputs, next_states

    def leave(self, directions):
        return ops.concatenate(directions, axis=-1)  # (batch, tokens, 2 * features)
