"""The ways to run the LSTM step along a sentence. All of them have the same interface, `Loop`.

`BiLM` uses a loop like this:

    loop = PackedLoop(mask, training)
    directions = loop.enter([inputs, inputs])     # the inputs of the forward and backward direction
    for each LSTM layer:
        directions, states = loop.run_layer(rnn_layers, directions, states)
        outputs = loop.leave(directions)          # (batch, tokens, 2 * features)

The biLM handles padding (masked tokens) in the loops and nowhere else. `PackedLoop.enter` drops
the padding, and `PackedLoop.leave` puts zeros in its place. `RNNLoop` and `PaddedLoop` keep it:
their `enter` sets it to zero, and their `run_layer` outputs zeros there and leaves the state as it
was. `UnrolledLoop` and `FirstStepLoop`, in unrolled.py, read no padding. `BiLM` makes these two
itself, for training and for the boundaries, and so they are not in the table `LOOPS`.

To add a loop called "fast" that users can choose:

1. Write a subclass of `Loop`, made from the mask and `training`, in a file of its own, `fast.py`.
2. Add a row to `LOOPS`.
3. Describe it in the docstring of `BiLM`, under `loop`.
4. tests/layers/loops/test_loops.py then compares it with `RNNLoop`.
5. If `fast.py` imports TensorFlow, add "fast" to the list in tests/test_imports.py.
"""

import importlib
from typing import NamedTuple

import keras
from keras import ops


class LoopEntry(NamedTuple):
    """One row of the table `LOOPS`.

    Attributes:
        module: str. The file of the loop in this folder, without `.py`.
        class_name: str.
        needs_tensorflow: bool. Whether the loop runs on Keras's TensorFlow backend alone.
        supports_xla: bool. Whether XLA can compile the loop.
    """

    module: str
    class_name: str
    needs_tensorflow: bool
    supports_xla: bool


# The loops by the names that the argument `loop` of `BiLM` takes. The classes are imported when
# they are used: users of JAX may lack TensorFlow, which some of the files import.
LOOPS = {
    "rnn": LoopEntry("rnn", "RNNLoop", needs_tensorflow=False, supports_xla=True),
    "packed": LoopEntry("packed", "PackedLoop", needs_tensorflow=True, supports_xla=False),
    "padded": LoopEntry("padded", "PaddedLoop", needs_tensorflow=True, supports_xla=True),
}


class Loop:
    """The interface of a loop. Each call of `BiLM` makes a new loop.

    A loop of the table `LOOPS` is made from the mask and a bool: `loop_class(mask, training)`. The
    mask is bool, (batch, tokens). Real tokens may be anywhere in a row. `training` says that a
    gradient will be computed. A loop may then prepare a faster one.

    A loop handles a pair of tensors, one for the forward and one for the backward direction of the
    biLM. Between `enter` and `leave` both have a form that the loop chooses. In this form, the sum
    of two tensors must be the sum token by token, since a skip connection adds them.
    """

    @staticmethod
    def traced(function):
        """Returns a function that does the same, and is fast if it is called eagerly.

        A loop whose steps would be slow in Python makes a `TracedFunction` of it. The others return
        the function itself.

        Args:
            function: a function of tensors that makes the loop and runs all layers with it.
        """
        return function

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


class TimeMajorLoop(Loop):
    """A loop whose own form is (tokens, batch, features).

    A step then reads and writes a slice of contiguous rows.
    """

    def enter(self, directions):
        # (batch, tokens, features) -> (tokens, batch, features)
        return [ops.transpose(x, (1, 0, 2)) for x in directions]

    def leave(self, directions):
        # (tokens, batch, features) each -> (batch, tokens, 2 * features)
        return ops.transpose(ops.concatenate(directions, axis=-1), (1, 0, 2))


def find_loop(name):
    """The class of a loop.

    Args:
        name: a name of the table `LOOPS`.

    Raises:
        ValueError: there is no such loop, or it needs TensorFlow and Keras runs on another backend.
    """
    if name not in list(LOOPS):
        raise ValueError(f"`loop` must be None or one of {list(LOOPS)}. Received: loop={name!r}")
    entry = LOOPS[name]
    if entry.needs_tensorflow and keras.backend.backend() != "tensorflow":
        raise ValueError(
            f'With loop={name!r} the backend must be TensorFlow; use loop=None or "rnn". '
            f"Received: backend {keras.backend.backend()!r}"
        )
    return getattr(importlib.import_module(f"{__name__}.{entry.module}"), entry.class_name)
