"""`BiLM`."""

import keras
from keras import ops

from keras_elmo.config import check_integers
from keras_elmo.layers.packing import pack
from keras_elmo.layers.projected_lstm import (
    ProjectedLSTMCell,
    run_packed,
    run_padded,
    run_unrolled,
)
from keras_elmo.traced_function import TracedFunction

_LOOPS = ("auto", "rnn", "padded")


@keras.saving.register_keras_serializable("keras_elmo")
class BiLM(keras.layers.Layer):
    """The biLM: a forward and a backward stack of projected LSTMs, apart through all layers.

    Layer 0 of the result is `[token, token]`; layer l is `[forward_l, backward_l]`. With skip
    connections, each layer but the first adds its input to its output; its state stays without.
    The backward stack reads each sequence from its last real token to its first.

    On TensorFlow only real tokens are computed, both directions in one loop; on other backends
    (and with `loop="rnn"`) `keras.layers.RNN` runs the same step.

    Masking: reads the mask; what is masked is passed over, wherever it stands, leaves the state
    as it was, and is zero in every output. The mask is passed on with every layer.

    Args:
        units: int. Size of the cells.
        projection_dim: int or `None`. Size of the outputs, and of the inputs. `None` or `units`:
            no projection.
        num_layers: int. LSTM layers in each direction.
        cell_clip: positive float or `None`. Cells are clipped to `[-cell_clip, cell_clip]`.
        projection_clip: positive float or `None`. The same for projected outputs.
        use_skip_connections: bool.
        return_state: bool. Return the state too.
        loop: `"auto"`; or `"rnn"` for `keras.layers.RNN` on TensorFlow too: slower, but XLA can
            compile it (`jit_compile=True`); or `"padded"`, on TensorFlow alone, of operations that
            TFLite has too.
        kernel_initializer: initializer of all kernels.

    Call arguments:
        inputs: float, (batch, tokens, projection_dim).
        mask: bool, (batch, tokens). `None`: every token is real.
        initial_state: `None` (zeros), or a list of `4 * num_layers` floats: for each layer the
            forward output (batch, projection_dim) and cell (batch, units), then the backward
            ones. A state that a call returned can be handed to the next.
        boundaries: `None`, or a pair of floats, (projection_dim,): what the forward and the
            backward direction read, from a zero state, before each sequence (the embeddings of
            `<S>` and `</S>`). They have no outputs, and are computed once for all rows. Not with
            an `initial_state`.
        loop: as the argument of the class, for this call; `None`: as there.
        backward_inputs: `None`, or floats like the inputs, on TensorFlow alone: what the backward
            direction reads, in its order of reading, where each direction reads a stream of its
            own (windows of a corpus, in training). Its outputs are in that order too. Without a
            mask the loop is unrolled, for a fixed number of tokens; real tokens come first in a
            mask. Not with boundaries.
        drop: `None`, or a function of a tensor and a tuple `(layer, direction)` of ints, which is
            applied to what each layer reads: dropout. With `backward_inputs` alone.

    Returns:
        A list of `num_layers + 1` floats, (batch, tokens, 2 * projection_dim). With
        `return_state`, a pair: that list, and the state after each row's last real token.

    Raises:
        ValueError: an argument is out of range, the inputs are not `projection_dim` wide, the
            initial state has not `4 * num_layers` tensors, or there are boundaries too.

    Example:

    >>> bilm = BiLM(units=256, projection_dim=64, num_layers=2, cell_clip=3.0)
    >>> [layer.shape for layer in bilm(keras.ops.ones((2, 9, 64)))]
    [(2, 9, 128), (2, 9, 128), (2, 9, 128)]

    Reference: Peters et al. 2018, section 3.1; `_build_lstms` in bilm-tf's bilm/model.py.
    """

    def __init__(
        self,
        units,
        projection_dim=None,
        num_layers=2,
        cell_clip=None,
        projection_clip=None,
        use_skip_connections=True,
        return_state=False,
        loop="auto",
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integers(1, num_layers=num_layers)
        _check_loop(loop)
        self.units = units
        self.projection_dim = projection_dim
        self.num_layers = num_layers
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.use_skip_connections = bool(use_skip_connections)
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
        self._compiled = None
        self.supports_jit = not self._is_packed(loop)
        self.supports_masking = True

    @property
    def input_dim(self):
        """Size of an input and of one direction's output."""
        return self.projection_dim or self.units

    def cells(self, direction):
        """The cells of a direction, `"forward"` or `"backward"`, the lowest layer first."""
        layers = {"forward": self.forward_layers, "backward": self.backward_layers}[direction]
        return [layer.cell for layer in layers]

    def build(self, input_shape):
        self._check(input_shape)
        for layer in [*self.forward_layers, *self.backward_layers]:
            layer.build((*input_shape[:-1], self.input_dim))

    def _check(self, shape, mask=None, state=None):
        if len(shape) != 3 or shape[-1] != self.input_dim:
            raise ValueError(
                "The inputs of BiLM must have shape (batch, tokens, features), as wide as its "
                f"outputs, `projection_dim` (or `units` without a projection): {self.input_dim}. "
                f"Received: input shape {tuple(shape)}"
            )
        if mask is not None and not _agree(mask.shape, shape[:2]):
            raise ValueError(
                "The mask must have shape (batch, tokens), like the inputs. "
                f"Received: mask shape {tuple(mask.shape)}, input shape {tuple(shape)}"
            )
        if state is None:
            return
        sizes = [self.input_dim, self.units] * 2 * self.num_layers
        shapes = [tuple(tensor.shape) for tensor in state]
        if len(shapes) != len(sizes) or not all(
            _agree(one, (shape[0], size)) for one, size in zip(shapes, sizes, strict=True)
        ):
            raise ValueError(
                f"`initial_state` must hold {len(sizes)} tensors: for each layer the forward "
                f"output (batch, {self.input_dim}) and cell (batch, {self.units}), then the "
                f"backward ones. Received: {len(shapes)} tensors of shapes {shapes}"
            )

    def zero_state(self, batch_size):
        """The state before any text: a list of zeros, as `initial_state` takes it."""
        sizes = [self.input_dim, self.units] * 2 * self.num_layers
        return [ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in sizes]

    def _state_after(self, tokens, batch_size):
        """The state of every row after its first token: one for each direction, the same in all."""
        directions = [tokens[0][None], tokens[1][None]]
        state = []
        for index in range(self.num_layers):
            for k, stack in enumerate((self.forward_layers, self.backward_layers)):
                cell = stack[index].cell
                m, c = cell.step(cell.input_product(directions[k]), None, None)
                directions[k] = m + directions[k] if self._is_skipped(index) else m
                state += [m, c]
        return [ops.repeat(row, batch_size, axis=0) for row in state]

    def call(
        self,
        inputs,
        mask=None,
        initial_state=None,
        boundaries=None,
        loop=None,
        backward_inputs=None,
        drop=None,
        training=False,
    ):
        self._check(inputs.shape, mask, initial_state)
        loop = _check_loop(loop or self.loop)
        batch_size = ops.shape(inputs)[0]
        if boundaries is not None:
            if initial_state is not None:
                raise ValueError(
                    "Boundaries are read from a zero state. Received: an `initial_state`, too"
                )
            initial_state = self._state_after(boundaries, batch_size)
        if initial_state is None:
            initial_state = self.zero_state(batch_size)
        initial_state = [ops.cast(tensor, inputs.dtype) for tensor in initial_state]
        if backward_inputs is not None:
            streams = [inputs, backward_inputs]
            outputs, state = self._run_streams(streams, mask, initial_state, drop, training)
            return (outputs, state) if self.return_state else outputs
        if mask is None:
            mask = ops.ones_like(inputs[..., 0], dtype="bool")
        if loop == "padded":
            run = self._run_padded
        else:
            run = self._run_packed if self._is_packed(loop) else self._run_rnn
        outputs, state = run(inputs, mask, initial_state)
        return (outputs, state) if self.return_state else outputs

    def _run_layers(self, layer, state, run, join, drop=None):
        """Runs all layers, each by `run(index, [forward, backward], states)`.

        Returns the outputs, `join([forward, backward])` of each layer, and the state.
        """
        outputs, next_state = [join(layer)], []
        for index in range(self.num_layers):
            if drop is not None:
                layer = [drop(x, (index, direction)) for direction, x in enumerate(layer)]
            start = state[4 * index : 4 * index + 4]
            result, final = run(index, layer, [start[:2], start[2:]])
            if self._is_skipped(index):
                result = [new + old for new, old in zip(result, layer, strict=True)]
            layer = result
            outputs.append(join(layer))
            next_state += [tensor for pair in final for tensor in pair]
        return outputs, next_state

    def _cells_of(self, index):
        return [self.forward_layers[index].cell, self.backward_layers[index].cell]

    def _run_rnn(self, inputs, mask, state):
        def run(index, layer, states):
            forward, *forward_state = self.forward_layers[index](
                layer[0], mask=mask, initial_state=states[0]
            )
            backward, *backward_state = self.backward_layers[index](
                layer[1], mask=mask, initial_state=states[1]
            )
            backward = ops.flip(backward, axis=1)  # RNN leaves it as it was read
            return [forward, backward], [forward_state, backward_state]

        return self._run_layers(_unmasked(inputs, mask), state, run, _concatenate)

    def _run_padded(self, inputs, mask, state):
        def run(index, layer, states):
            return run_padded(self._cells_of(index), layer, mask, states)

        return self._run_layers(_unmasked(inputs, mask), state, run, _concatenate)

    def _run_packed(self, inputs, mask, state):
        import tensorflow as tf

        if not tf.executing_eagerly():
            return self._packed_graph(inputs, mask, state)
        # Step by step in Python the loop would take longer than its arithmetic.
        if self._compiled is None:
            self._compiled = TracedFunction(self._packed_graph, reduce_retracing=True)
        return self._compiled(inputs, mask, state)

    def _packed_graph(self, inputs, mask, state):
        import tensorflow as tf

        packing = pack(mask)
        tokens = tf.gather_nd(inputs, packing.positions)  # (N, projection_dim), row by row
        places = [packing.forward, packing.backward]
        # [forward, backward], each packed in its own order of reading.
        layer = [tf.gather(tokens, tf.math.invert_permutation(place)) for place in places]
        state = [tf.gather(tensor, packing.order) for tensor in state]
        rows = tf.math.invert_permutation(packing.order)
        shape = (*tf.unstack(tf.shape(inputs, out_type=tf.int64)[:2]), 2 * self.input_dim)

        def unpack(layer):
            tokens = [tf.gather(x, place) for x, place in zip(layer, places, strict=True)]
            padded = tf.scatter_nd(packing.positions, tf.concat(tokens, -1), shape)
            return tf.ensure_shape(padded, (*inputs.shape[:2], 2 * self.input_dim))

        def run(index, layer, states):
            return run_packed(self._cells_of(index), layer, packing, states)

        outputs, next_state = self._run_layers(layer, state, run, unpack)
        return outputs, [tf.gather(tensor, rows) for tensor in next_state]

    def _run_streams(self, streams, mask, state, drop, training):
        import tensorflow as tf

        if mask is None:
            # Steps come first: each is a slice of contiguous rows.
            def swap(x):
                return tf.transpose(x, [1, 0, 2])

            def run(index, layer, states):
                return run_unrolled(self._cells_of(index), layer, states, training)

            layer = [swap(x) for x in streams]
            return self._run_layers(layer, state, run, lambda x: swap(_concatenate(x)), drop)

        packing = pack(mask)
        place = tf.math.invert_permutation(packing.forward)
        layer = [tf.gather(tf.gather_nd(x, packing.positions), place) for x in streams]
        state = [tf.gather(tensor, packing.order) for tensor in state]
        shape = (*tf.unstack(tf.shape(mask, out_type=tf.int64)), 2 * self.input_dim)

        def unpack(layer):
            tokens = tf.gather(_concatenate(layer), packing.forward)
            return tf.scatter_nd(packing.positions, tokens, shape)

        def run_masked(index, layer, states):
            return run_packed(self._cells_of(index), layer, packing, states)

        outputs, state = self._run_layers(layer, state, run_masked, unpack, drop)
        rows = tf.math.invert_permutation(packing.order)
        return outputs, [tf.gather(tensor, rows) for tensor in state]

    def _is_packed(self, loop):
        return loop == "auto" and keras.backend.backend() == "tensorflow"

    def _is_skipped(self, index):
        return self.use_skip_connections and index > 0

    def compute_mask(self, inputs, mask=None):
        masks = [mask] * (self.num_layers + 1)
        return (masks, [None] * 4 * self.num_layers) if self.return_state else masks

    def compute_output_shape(self, input_shape):
        layers = [(*input_shape[:-1], 2 * self.input_dim)] * (self.num_layers + 1)
        if not self.return_state:
            return layers
        sizes = [self.input_dim, self.units] * 2 * self.num_layers
        return layers, [(input_shape[0], size) for size in sizes]

    @property
    def output_shape(self):
        """The shape of each layer's output, which `summary` shows."""
        return None, None, 2 * self.input_dim

    def compute_output_spec(self, inputs, mask=None, **kwargs):
        def spec(shapes):
            return [keras.KerasTensor(shape, dtype=self.compute_dtype) for shape in shapes]

        shapes = self.compute_output_shape(inputs.shape)
        return (spec(shapes[0]), spec(shapes[1])) if self.return_state else spec(shapes)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "projection_dim": self.projection_dim,
            "num_layers": self.num_layers,
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip,
            "use_skip_connections": self.use_skip_connections,
            "return_state": self.return_state,
            "loop": self.loop,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def _unmasked(inputs, mask):
    """Both directions' first inputs, zero where they are masked."""
    return [ops.where(ops.expand_dims(mask, -1), inputs, ops.zeros_like(inputs))] * 2


def _concatenate(layer):
    return ops.concatenate(layer, axis=-1)


def _check_loop(loop):
    if loop not in _LOOPS:
        raise ValueError(f"`loop` must be one of {list(_LOOPS)}. Received: loop={loop!r}")
    if loop == "padded" and keras.backend.backend() != "tensorflow":
        raise ValueError(
            'loop="padded" is for the TensorFlow backend. '
            f"Received: backend {keras.backend.backend()!r}"
        )
    return loop


def _agree(shape, expected):
    return len(shape) == len(expected) and all(
        a == b or a is None or b is None for a, b in zip(shape, expected, strict=True)
    )
