from typing import Any

import keras
from keras import ops

from keras_elmo.backend import ON_TENSORFLOW
from keras_elmo.checks import check_integers
from keras_elmo.layers.configured_layer import ConfiguredLayer
from keras_elmo.layers.loops import find_loop
from keras_elmo.layers.loops.scan import ScanLoop
from keras_elmo.layers.loops.unrolled import UnrolledLoop
from keras_elmo.layers.projected_lstm import ProjectedLSTMCell


@keras.saving.register_keras_serializable("keras_elmo")
class BiLM(ConfiguredLayer):
    """The biLM: a forward and a backward stack of projected LSTMs, which do not see each other.

    Layer 0 of the result is `[token, token]`, and layer l is `[forward_l, backward_l]`. With skip
    connections, each layer but the first adds its input to its output; its state is the output
    before this addition. The backward stack reads each sequence from its last real token to its
    first.

    Masking: masked tokens are skipped, wherever they are in a row. They do not change the state,
    and every output is zero there. The mask is passed on with every layer.

    Args:
        units: int. Size of the cells.
        projection_dim: int or `None`. Size of the outputs, and of the inputs. `None` or `units`
            means no projection.
        num_layers: int. LSTM layers in each direction.
        cell_clip: positive float or `None`. Cells are clipped to `[-cell_clip, cell_clip]`.
        projection_clip: positive float or `None`. The same for projected outputs.
        use_skip_connections: bool.
        always_project: bool. See `ProjectedLSTMCell`.
        return_state: bool. Whether a call also returns the state.
        loop: how the step runs along a sentence. `"packed"` (TensorFlow only) computes real tokens
            alone, both directions in one loop. `"rnn"` is `keras.layers.RNN`: it is slower, runs on
            every backend, and XLA can compile it (`jit_compile=True`). `"padded"` (TensorFlow only)
            uses operations that TFLite also has, and no others. `None` chooses `"packed"` on
            TensorFlow and `"rnn"` elsewhere. All of them give the same numbers.
        kernel_initializer: initializer of all kernels.

    Call arguments:
        inputs: float, (batch, tokens, projection_dim).
        mask: bool, (batch, tokens). `None`: every token is real.
        initial_state: `None` (zeros), or a list of `4 * num_layers` floats: for each layer the
            forward output (batch, projection_dim) and cell (batch, units), then the backward
            ones. A state that a call returned can be handed to the next call.
        boundaries: `None`, or a pair of floats, (projection_dim,): the embeddings of `<S>` and
            `</S>`. The forward direction reads the first, and the backward direction the second,
            before each sequence, from a zero state. They have no outputs, are computed once for all
            rows, and cannot be given together with an `initial_state`.
        training: bool. Whether a gradient will be computed. The loop may then prepare a faster one;
            the numbers are the same.

    Returns:
        A list of `num_layers + 1` floats, (batch, tokens, 2 * projection_dim). With
        `return_state`, a pair: that list, and the state after each row's last real token.

    Raises:
        ValueError: an argument is out of range, the inputs are not `projection_dim` wide, the
            initial state does not hold `4 * num_layers` tensors, or boundaries are given too.

    Example:

    >>> bilm = BiLM(units=256, projection_dim=64, num_layers=2, cell_clip=3.0)
    >>> [layer.shape for layer in bilm(keras.ops.ones((2, 9, 64)))]
    [(2, 9, 128), (2, 9, 128), (2, 9, 128)]

    Reference: Peters et al. 2018, section 3.1; `_build_lstms` in bilm-tf's bilm/model.py.
    """

    def __init__(
        self,
        units: int,
        projection_dim: int | None = None,
        num_layers: int = 2,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
        use_skip_connections: bool = True,
        return_state: bool = False,
        loop: str | None = None,
        always_project: bool = False,
        kernel_initializer: Any = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_integers(1, num_layers=num_layers)
        if loop is not None:
            find_loop(loop)  # This raises an error if there is no such loop.
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.use_skip_connections = bool(use_skip_connections)
        self.always_project = bool(always_project)
        self.return_state = bool(return_state)
        self.loop = loop
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

        def stack(direction):
            return [
                keras.layers.RNN(
                    ProjectedLSTMCell(
                        units,
                        projection_dim,
                        cell_clip,
                        projection_clip,
                        self.always_project,
                        kernel_initializer=self.kernel_initializer.clone(),
                        dtype=self.dtype_policy,
                    ),
                    return_sequences=True,
                    return_state=True,
                    go_backwards=direction == "backward",
                    zero_output_for_mask=True,
                    dtype=self.dtype_policy,
                    name=f"{direction}_{index}",
                )
                for index in range(num_layers)
            ]

        self.forward_layers = stack("forward")
        self.backward_layers = stack("backward")
        self.input_spec = keras.InputSpec(ndim=3, axes={-1: self.input_dim})
        self._traced_runs = {}  # the functions that run the loop, by `training`
        self.supports_jit = self._loop_class().supports_xla
        self.supports_masking = True

    @property
    def input_dim(self) -> int:
        """Size of an input and of one direction's output."""
        return self.projection_dim or self.units

    @property
    def state_sizes(self) -> list[int]:
        """The width of each tensor of the state, in the order of `initial_state`."""
        return [self.input_dim, self.units] * 2 * self.num_layers

    def cells(self, direction):
        """The cells of the direction `"forward"` or `"backward"`, the lowest layer first."""
        layers = {"forward": self.forward_layers, "backward": self.backward_layers}[direction]
        return [layer.cell for layer in layers]

    def build(self, input_shape):
        for layer in [*self.forward_layers, *self.backward_layers]:
            layer.build((*input_shape[:-1], self.input_dim))

    def _check(self, shape, mask, state):
        if mask is not None and not shapes_agree(mask.shape, shape[:2]):
            raise ValueError(
                "The mask must have shape (batch, tokens), like the inputs. "
                f"Received: mask shape {tuple(mask.shape)}, input shape {tuple(shape)}"
            )
        if state is None:
            return
        expected = [(shape[0], size) for size in self.state_sizes]
        shapes = [tuple(tensor.shape) for tensor in state]
        if len(shapes) != len(expected) or not all(map(shapes_agree, shapes, expected)):
            raise ValueError(
                f"`initial_state` must hold {len(expected)} tensors: for each layer the forward "
                f"output (batch, {self.input_dim}) and cell (batch, {self.units}), then the "
                f"backward ones. Received: {len(shapes)} tensors of shapes {shapes}"
            )

    def zero_state(self, batch_size: Any) -> list[Any]:
        """The state before any text: a list of zeros, as `initial_state` takes it."""
        return [ops.zeros((batch_size, size), self.compute_dtype) for size in self.state_sizes]

    def call(self, inputs, mask=None, initial_state=None, boundaries=None, training=False):
        self._check(inputs.shape, mask, initial_state)
        batch_size = ops.shape(inputs)[0]
        if boundaries is not None:
            if initial_state is not None:
                raise ValueError(
                    "Boundaries must be read from a zero state. Received: an `initial_state`, too"
                )
            initial_state = self._state_after(boundaries, batch_size)
        if initial_state is None:
            initial_state = self.zero_state(batch_size)
        if mask is None:
            mask = ops.ones_like(inputs[..., 0], dtype="bool")
        initial_state = [ops.cast(tensor, inputs.dtype) for tensor in initial_state]
        outputs, state = self._traced_run(bool(training))(inputs, mask, initial_state)
        return (outputs, state) if self.return_state else outputs

    def read_streams(
        self, forward, backward, initial_state, mask=None, dropout=None, training=False
    ):
        """Runs the two directions on different inputs, as training on windows of a corpus does.

        On TensorFlow, without a mask, every step is written into the graph if the number of tokens
        is known; if it is not, the steps are a loop of TFLite's operations.

        Args:
            forward: float, (batch, tokens, projection_dim).
            backward: float, like `forward`, in the order in which this direction reads.
            initial_state: see the call arguments.
            mask: bool, (batch, tokens), or `None`. The real tokens come first in each row.
            dropout: `None`, or a function of a tensor and a pair of ints `(layer, direction)`,
                which is applied to the inputs of each LSTM layer.
            training: see the call arguments.

        Returns:
            A pair: the outputs as a call returns them, but each direction in its own order of
            reading; and the state.
        """
        self._check(forward.shape, mask, initial_state)
        if not ON_TENSORFLOW:
            loop = ScanLoop(mask)
        elif mask is not None:
            loop = find_loop("packed")(mask, training, is_backward_reversed=False)
        elif forward.shape[1] is not None:
            loop = UnrolledLoop(training)
        else:
            loop = find_loop("padded")(None, training, is_backward_reversed=False)
        return self.run_layers(loop, [forward, backward], initial_state, dropout)

    def _loop_class(self):
        return find_loop(self.loop or ("packed" if ON_TENSORFLOW else "rnn"))

    def _traced_run(self, training):
        """The function of `(inputs, mask, state)` that runs the loop. It is made once."""
        if training not in self._traced_runs:
            loop_class = self._loop_class()

            def run(inputs, mask, state):
                return self.run_layers(loop_class(mask, training), [inputs, inputs], state)

            self._traced_runs[training] = loop_class.traced(run)
        return self._traced_runs[training]

    def run_layers(self, loop, directions, state, dropout=None):
        """Runs all LSTM layers over a pair of floats, (batch, tokens, projection_dim).

        Returns the list of every layer's outputs, and the state.
        """
        directions = loop.enter(directions)
        outputs, next_state = [loop.leave(directions)], []
        for index in range(self.num_layers):
            if dropout is not None:
                directions = [dropout(x, (index, k)) for k, x in enumerate(directions)]
            layers = [self.forward_layers[index], self.backward_layers[index]]
            layer_state = state[4 * index : 4 * index + 4]
            results, states = loop.run_layer(layers, directions, [layer_state[:2], layer_state[2:]])
            if self.use_skip_connections and index > 0:
                results = [new + old for new, old in zip(results, directions, strict=True)]
            directions = results
            outputs.append(loop.leave(directions))
            next_state += [tensor for pair in states for tensor in pair]
        return outputs, next_state

    def _state_after(self, boundaries, batch_size):
        """The state after the boundaries, which is the same in every row."""
        directions = [embedding[None, None] for embedding in boundaries]  # (1, 1, projection_dim)
        _, state = self.run_layers(UnrolledLoop(False), directions, [None] * 4 * self.num_layers)
        return [ops.broadcast_to(tensor, (batch_size, tensor.shape[1])) for tensor in state]

    def compute_mask(self, inputs, mask=None):
        masks = [mask] * (self.num_layers + 1)
        return (masks, [None] * 4 * self.num_layers) if self.return_state else masks

    def compute_output_shape(self, input_shape):
        layers = [(*input_shape[:-1], 2 * self.input_dim)] * (self.num_layers + 1)
        if not self.return_state:
            return layers
        return layers, [(input_shape[0], size) for size in self.state_sizes]

    @property
    def output_shape(self):
        """The shape of each layer's output, which `summary` shows."""
        return None, None, 2 * self.input_dim


def shapes_agree(shape, expected):
    """Whether two shapes are equal, where `None` is equal to any size."""
    return len(shape) == len(expected) and all(
        a == b or a is None or b is None for a, b in zip(shape, expected, strict=True)
    )
