"""The ways to run the LSTM step along a sentence. All of them have the same interface, `Loop`.

`BiLM` uses a loop like this:

    loop = PackedLoop(mask)
    directions = loop.enter([inputs, inputs])     # the inputs of the forward and backward direction
    for each LSTM layer:
        directions, states = loop.run_layer(rnn_layers, directions, states)
        outputs = loop.leave(directions)          # (batch, tokens, 2 * features)

To add a loop, write a class with these three methods in a file of its own, name it in `find_loop`,
and write a test file that compares it with `RNNLoop`, as tests/layers/loops/test_padded.py does.
"""


class Loop:
    """The interface of a loop. Each call of `BiLM` makes a new loop.

    A loop handles a pair of tensors, one for the forward and one for the backward direction of the
    biLM. Between `enter` and `leave` both have a form that the loop chooses. In this form, the sum
    of two tensors must be the sum token by token, since a skip connection adds them.
    """

    def enter(self, directions):
        """Converts the inputs to the loop's own form.

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
            states: like the argument, after the last real token of each row.
        """
        raise NotImplementedError

    def leave(self, directions):
        """Converts both directions back, and concatenates their features.

        Args:
            directions: the pair in the loop's own form.

        Returns:
            float, (batch, tokens, 2 * features). Masked tokens are zero.
        """
        raise NotImplementedError

    @staticmethod
    def compile(function):
        """Returns a function that does the same, and is fast if it is called eagerly.

        Args:
            function: a function of tensors that runs the whole loop.
        """
        return function


def find_loop(name):
    """The class of the loop that is called `"rnn"`, `"packed"` or `"padded"`."""
    # Users of JAX may lack TensorFlow, which the files of the other two loops import.
    if name == "rnn":
        from keras_elmo.layers.loops.rnn import RNNLoop as found
    elif name == "packed":
        from keras_elmo.layers.loops.packed import PackedLoop as found
    else:
        from keras_elmo.layers.loops.padded import PaddedLoop as found
    return found
