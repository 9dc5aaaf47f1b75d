"""The ways to run the LSTM step along a sentence. All of them have the same interface, `Loop`.

`BiLM` uses a loop like this:

    loop = PackedLoop(mask, training)
    directions = loop.enter([inputs, inputs])     # the inputs of the forward and backward direction
    for each LSTM layer:
        directions, states = loop.run_layer(rnn_layers, directions, states)
        outputs = loop.leave(directions)          # (batch, tokens, 2 * features)

Padding (masked tokens) is handled in the loops and nowhere else. `PackedLoop.enter` drops it, and
`PackedLoop.leave` puts zeros in its place. `RNNLoop` and `PaddedLoop` keep it, output zeros there,
and leave the state as it was. `UnrolledLoop` reads no padding: `BiLM` makes it itself, for training
and for the boundaries.

A new loop that users can choose is a subclass of `Loop` in a file of its own, a row of `LOOPS`, and
a sentence in the docstring of `BiLM`. test_loops.py then compares it with `RNNLoop`. If it imports
TensorFlow, tests/test_imports.py must name it.
"""

import importlib

import keras
from keras import ops

# The classes by the names that `loop` of `BiLM` takes, which are also those of their files. These
# are imported when they are used: users of JAX may lack TensorFlow, which all but `_PORTABLE` need.
LOOPS = {"rnn": "RNNLoop", "packed": "PackedLoop", "padded": "PaddedLoop"}
_PORTABLE = ("rnn",)


class Loop:
    """The interface of a loop. Each call of `BiLM` makes a new loop.

    A loop of the table `LOOPS` is made from the mask, bool (batch, tokens), and from a bool,
    `training`: whether a gradient will be computed. Real tokens may be anywhere in a row.

    A loop handles a pair of tensors, one for the forward and one for the backward direction of the
    biLM. Between `enter` and `leave` both have a form that the loop chooses. In this form, the sum
    of two tensors must be the sum token by token, since a skip connection adds them.
    """

    supports_xla = True

    @staticmethod
    def traced(function):
        """The function that runs all layers with the loop, or one that does the same faster."""
        return function

    def enter(self, directions):
        """Converts a pair of floats, (batch, tokens, features), to the loop's own form."""

    def run_layer(self, layers, directions, states):
        """Runs a pair of built `keras.layers.RNN`s, each with a `ProjectedLSTMCell`.

        The states are pairs `(m, c)`, (batch, projection_dim) and (batch, units). The results are
        the outputs in the loop's own form, and the states after the last real token of each row.
        """

    def leave(self, directions):
        """Converts both directions to one float, (batch, tokens, 2 * features), zero if masked."""


class TimeMajorLoop(Loop):
    """A loop whose own form is (tokens, batch, features): a step has a slice of adjacent rows."""

    def enter(self, directions):
        # (batch, tokens, features) -> (tokens, batch, features)
        return [ops.transpose(x, (1, 0, 2)) for x in directions]

    def leave(self, directions):
        # (tokens, batch, features) each -> (batch, tokens, 2 * features)
        return ops.transpose(ops.concatenate(directions, axis=-1), (1, 0, 2))


def find_loop(name):
    """The class of a loop by its name, or a `ValueError` where this backend does not have it."""
    if name not in list(LOOPS):
        raise ValueError(f"`loop` must be None or one of {list(LOOPS)}. Received: loop={name!r}")
    if name not in _PORTABLE and keras.backend.backend() != "tensorflow":
        raise ValueError(
            f'With loop={name!r} the backend must be TensorFlow; use loop=None or "rnn". '
            f"Received: backend {keras.backend.backend()!r}"
        )
    return getattr(importlib.import_module(f"{__name__}.{name}"), LOOPS[name])
