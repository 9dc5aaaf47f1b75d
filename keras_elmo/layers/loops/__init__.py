"""The ways to run the LSTM step along a sentence. All of them have one interface.

`BiLM` uses a loop like this:

    loop = PackedLoop(mask)
    directions = loop.enter([inputs, inputs])     # what the forward and the backward direction read
    for each LSTM layer:
        directions, states = loop.run_layer(rnn_layers, directions, states)
        outputs = loop.leave(directions)          # (batch, tokens, 2 * features)

To add a loop, write a class with these three methods in a file of its own, name it in `find_loop`,
and add it to the list in tests/layers/loops/test_loops.py, which compares each loop with `RNNLoop`.
"""


class Loop:
    """The interface of a loop. A loop is made anew for each call of `BiLM`.

    The loop handles a pair of tensors, one for each direction of the biLM: forward, then backward.
    Between `enter` and `leave` they have the loop's own form. Two tensors in that form must add up
    element by element, as the skip connection needs it.
    """

    def enter(self, directions):
        """Takes the inputs into the loop's own form.

        Args:
            directions: pair of floats, (batch, tokens, features).

        Returns:
            The pair in the loop's own form.
        """
        raise NotImplementedError

    def run_layer(self, layers, directions, states):
        """Runs one LSTM layer in each direction.

        Args:
            layers: pair of built `keras.layers.RNN`s, forward and backward, each with a
                `ProjectedLSTMCell`.
            directions: the pair in the loop's own form.
            states: pair of pairs `(m, c)`, floats, (batch, projection_dim) and (batch, units).

        Returns:
            directions: the layer's outputs, in the loop's own form.
            states: like the argument, after the last token that each row has.
        """
        raise NotImplementedError

    def leave(self, directions):
        """Gives the directions back, side by side.

        Returns:
            float, (batch, tokens, 2 * features). Masked tokens are zero.
        """
        raise NotImplementedError

    @staticmethod
    def compile(function):
        """Prepares a function that runs the whole loop for being called eagerly."""
        return function


def find_loop(name):
    """The class of a loop by its name: `"rnn"`, `"packed"` or `"padded"`."""
    # Only the loops of TensorFlow import TensorFlow.
    if name == "rnn":
        from keras_elmo.layers.loops.rnn import RNNLoop as found
    elif name == "packed":
        from keras_elmo.layers.loops.packed import PackedLoop as found
    else:
        from keras_elmo.layers.loops.padded import PaddedLoop as found
    return found
