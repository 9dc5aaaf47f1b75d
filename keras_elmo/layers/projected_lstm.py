"""THE recurrent core: the LSTM step with clips and a projection, and the loops that run it.

The gate equations are in `projected_lstm_step` and nowhere else. `ProjectedLSTMCell` holds the
weights and lets `keras.layers.RNN` run the step on any backend; `run_packed` runs it faster on
TensorFlow (`packing.py` says how), `run_unrolled` in training, and `run_padded` in operations that
TFLite has too.
"""

import functools

import keras
from keras import ops

from keras_elmo.config import check_clips, check_integers
from keras_elmo.layers.product import product

# Added to the forget gate at run time, as TensorFlow 1's LSTMCell does. The files hold the bias
# without it, and so do the variables: adding and taking away again would lose its last bits.
FORGET_BIAS = 1.0

# Input products are computed ahead of the steps for blocks of about this many tokens: one product
# of many rows runs near the machine's peak, and the block bounds the memory (4 * units floats a
# token and direction).
HOISTED_TOKENS = 1024


def projected_lstm_step(
    input_product,
    m,
    c,
    recurrent_kernel,
    projection_kernel=None,
    cell_clip=None,
    projection_clip=None,
    training=False,
):
    """One step of the LSTM.

        i, j, f, o = split(input_product + m U)
        c' = clip(sigmoid(f) * c + sigmoid(i) * tanh(j), cell_clip)
        m' = clip((sigmoid(o) * tanh(c')) P, projection_clip)

    Without a projection kernel, `m' = sigmoid(o) * tanh(c')`, not clipped.

    Args:
        input_product: float, (rows, 4 * units). `x W + b`, from `input_product`.
        m: float, (rows, projection_dim). The previous output. `None`: zeros, not multiplied.
        c: float, (rows, units). The previous cell. `None`: zeros.
        recurrent_kernel: float, (projection_dim, 4 * units). U.
        projection_kernel: float, (units, projection_dim), or `None`. P.
        cell_clip: float or `None`.
        projection_clip: float or `None`.
        training: bool. See `product`.

    Returns:
        `(m', c')`, shaped as `m` and `c`.

    Reference: Sak et al. 2014; `LSTMCell` of TensorFlow 1 with `use_peepholes=False`.
    """
    gates = input_product
    if m is not None:
        gates = gates + product(m, recurrent_kernel, training)
    i, j, f, o = ops.split(gates, 4, axis=-1)
    kept = 0 if c is None else ops.sigmoid(f) * c
    c = kept + ops.sigmoid(i) * ops.tanh(j)
    if cell_clip is not None:
        c = ops.clip(c, -cell_clip, cell_clip)
    m = ops.sigmoid(o) * ops.tanh(c)
    if projection_kernel is not None:
        m = product(m, projection_kernel, training)
        if projection_clip is not None:
            m = ops.clip(m, -projection_clip, projection_clip)
    return m, c


def input_product(inputs, kernel, bias, training=False):
    """`x W + b`, the forget bias included: what a step needs of its input.

    Args:
        inputs: float, (..., features).
        kernel: float, (features, 4 * units).
        bias: float, (4 * units,), without the forget bias.
        training: bool. See `product`.

    Returns:
        float, (..., 4 * units).
    """
    units = bias.shape[0] // 4
    forget = ops.cast(ops.arange(4 * units) // units == 2, bias.dtype)  # gates i, j, f, o
    return product(inputs, kernel, training) + (bias + FORGET_BIAS * forget)


@keras.saving.register_keras_serializable("keras_elmo")
class ProjectedLSTMCell(keras.layers.Layer):
    """An LSTM cell with a projection and clips, for `keras.layers.RNN`.

    Its equations are those of `projected_lstm_step`. Gates are ordered i, j, f, o (input,
    candidate, forget, output); 1 is added to the forget gate at run time.

    Masking: `keras.layers.RNN` handles it; the cell knows none.

    Args:
        units: int. Size of the cell.
        projection_dim: int or `None`. Size of the output. `None` or `units`: no projection.
        cell_clip: positive float or `None`.
        projection_clip: positive float or `None`.
        kernel_initializer: initializer of all kernels.

    Call arguments:
        inputs: float, (batch, features).
        states: pair of floats, (batch, projection_dim) and (batch, units).

    Returns:
        `(output, [output, cell])`.

    Raises:
        ValueError: an argument is out of range.

    Example:

    >>> rnn = keras.layers.RNN(ProjectedLSTMCell(256, projection_dim=64), return_sequences=True)
    >>> rnn(keras.ops.ones((2, 9, 32))).shape
    (2, 9, 64)

    Reference: Sak et al. 2014, "Long Short-Term Memory Based Recurrent Neural Network
    Architectures for Large Vocabulary Speech Recognition"; `LSTMCell` of TensorFlow 1.
    """

    def __init__(
        self,
        units,
        projection_dim=None,
        cell_clip=None,
        projection_clip=None,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integers(1, units=units, projection_dim=projection_dim or units)
        check_clips(cell_clip=cell_clip, projection_clip=projection_clip)
        if projection_dim is not None and not 1 <= projection_dim <= units:
            raise ValueError(
                f"`projection_dim` must be from 1 to `units` ({units}). "
                f"Received: projection_dim={projection_dim}"
            )
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    @property
    def output_size(self):
        return self.projection_dim or self.units

    @property
    def state_size(self):
        return [self.output_size, self.units]

    def build(self, input_shape):
        def weight(name, shape, initializer):
            return self.add_weight(name=name, shape=shape, initializer=initializer)

        gates = 4 * self.units
        initializer = self.kernel_initializer
        self.kernel = weight("kernel", (input_shape[-1], gates), initializer.clone())
        self.recurrent_kernel = weight(
            "recurrent_kernel", (self.output_size, gates), initializer.clone()
        )
        self.bias = weight("bias", (gates,), "zeros")
        self.projection_kernel = None
        if self.output_size != self.units:
            self.projection_kernel = weight(
                "projection_kernel", (self.units, self.output_size), initializer.clone()
            )

    def input_product(self, inputs, training=False):
        """What `step` needs of its input: (..., features) -> (..., 4 * units)."""
        weights = map(ops.convert_to_tensor, (self.kernel, self.bias))
        return input_product(inputs, *weights, training)

    def step(self, input_product, m, c):
        """`projected_lstm_step` with this cell's weights."""
        return self.stepper()(input_product, m, c)

    def stepper(self, training=False):
        """`step` for many steps: a function that has read the weights."""
        projection = self.projection_kernel
        return functools.partial(
            projected_lstm_step,
            recurrent_kernel=ops.convert_to_tensor(self.recurrent_kernel),
            projection_kernel=None if projection is None else ops.convert_to_tensor(projection),
            cell_clip=self.cell_clip,
            projection_clip=self.projection_clip,
            training=training,
        )

    def call(self, inputs, states, training=False):
        m, c = self.step(self.input_product(inputs), *states)
        return m, [m, c]

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "projection_dim": self.projection_dim,
            "cell_clip": self.cell_clip,
            "projection_clip": self.projection_clip,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
        }


def run_packed(cells, inputs, packing, states):
    """Runs several cells side by side over packed sequences, in one loop (TensorFlow).

    Args:
        cells: list of built `ProjectedLSTMCell`s of one size, here the two directions.
        inputs: list of floats, (N, features), one a cell, each packed in its own order.
        packing: the `Packing`; only `lengths`, `alive` and `offsets` are read.
        states: list of pairs `(m, c)`, one a cell, (batch, projection_dim) and (batch, units), in
            the packing's order of rows.

    Returns:
        outputs: list of floats, (N, projection_dim), one a cell, packed like its input.
        states: like the argument: each row's state after its own last token.
    """
    import tensorflow as tf

    alive, offsets, lengths = packing.alive, packing.offsets, packing.lengths
    steps = tf.shape(alive)[0] - 1
    dtype = inputs[0].dtype
    size, units = cells[0].output_size, cells[0].units

    def array(features):
        return tf.TensorArray(dtype, size=steps, infer_shape=False, element_shape=(None, features))

    def rows(state):  # the rows still alive
        return [tf.TensorShape([None, size]), tf.TensorShape([None, units])] * len(state)

    def run_block(start, state, outputs, ended):
        # As many steps as hold about HOISTED_TOKENS tokens; their input products come first.
        end = tf.minimum(start + tf.maximum(1, HOISTED_TOKENS // alive[start]), steps)
        first = offsets[start]
        products = [
            cell.input_product(x[first : offsets[end]])
            for cell, x in zip(cells, inputs, strict=True)
        ]

        def run_step(t, state, outputs, ended):
            here = slice(offsets[t] - first, offsets[t + 1] - first)
            staying = alive[t + 1]
            next_state, next_outputs, next_ended = [], [], []
            for k, cell in enumerate(cells):
                m, c = cell.step(products[k][here], state[2 * k], state[2 * k + 1])
                next_outputs.append(outputs[k].write(t, m))
                next_ended.append(ended[k].write(t, c[staying:]))
                next_state += [m[:staying], c[:staying]]
            return t + 1, next_state, next_outputs, next_ended

        return tf.while_loop(
            lambda t, *_: t < end,
            run_step,
            [start, state, outputs, ended],
            shape_invariants=invariants,
        )

    # A row without tokens never starts; its state is handed back as it came.
    started = alive[0]
    state = [tensor[:started] for pair in states for tensor in pair]
    outputs = [array(size) for _ in cells]
    ended = [array(units) for _ in cells]
    arrays = [tf.TensorShape(None)] * len(cells)
    invariants = [tf.TensorShape([]), rows(cells), arrays, arrays]
    _, _, outputs, ended = tf.while_loop(
        lambda t, *_: t < steps,
        run_block,
        [tf.constant(0), state, outputs, ended],
        shape_invariants=invariants,
    )
    outputs = [array.concat() for array in outputs]
    # Cells were put away as their rows ended, step by step: the shortest rows first, and among
    # rows of one length in their order.
    last = lengths[:started] - 1
    put_away = started - tf.gather(alive, last)
    put_away += tf.range(started) - tf.gather(alive, last + 1)
    last_place = tf.gather(offsets, last) + tf.range(started)
    final = [
        (
            tf.concat([tf.gather(outputs[k], last_place), m[started:]], 0),
            tf.concat([tf.gather(ended[k].concat(), put_away), c[started:]], 0),
        )
        for k, (m, c) in enumerate(states)
    ]
    return outputs, final


def run_unrolled(cells, inputs, states, training=False):
    """Runs several cells side by side over sequences of one length, without a loop (TensorFlow).

    For training: a step is short there, and what a loop keeps for its gradient costs more.

    Args:
        cells: list of built `ProjectedLSTMCell`s, here the two directions.
        inputs: list of floats, (steps, batch, features), one a cell, each in its order of reading.
            The number of steps is known.
        states: list of pairs `(m, c)`, one a cell, (batch, projection_dim) and (batch, units).
        training: bool. See `product`.

    Returns:
        outputs: list of floats, (steps, batch, projection_dim).
        states: like the argument, after the last step.
    """
    import tensorflow as tf

    outputs, final = [], []
    for cell, x, (m, c) in zip(cells, inputs, states, strict=True):
        rows, step = [], cell.stepper(training)
        for row in tf.unstack(cell.input_product(x, training)):
            m, c = step(row, m, c)
            rows.append(m)
        outputs.append(tf.stack(rows))
        final.append((m, c))
    return outputs, final


def run_padded(cells, inputs, mask, states):
    """Runs the forward and the backward direction over padded sequences, in one loop (TensorFlow).

    Every operation is among TFLite's own, for any number of rows and of tokens from 1 on.

    Args:
        cells: pair of built `ProjectedLSTMCell`s of one size, forward and backward.
        inputs: pair of floats, (batch, tokens, features), one a cell, both in the order of text.
        mask: bool, (batch, tokens). What is masked is passed over: the state stays, the output is
            zero.
        states: pair of pairs `(m, c)`, (batch, projection_dim) and (batch, units).

    Returns:
        outputs: pair of floats, (batch, tokens, projection_dim), in the order of text.
        states: like the argument, after each row's last real token in the direction of reading.
    """
    import tensorflow as tf

    # Steps come first: each is a slice of contiguous rows.
    is_real = tf.expand_dims(tf.transpose(mask), -1)  # (tokens, batch, 1)
    products = [
        cell.input_product(tf.transpose(x, [1, 0, 2]))
        for cell, x in zip(cells, inputs, strict=True)
    ]
    steps, rows = tf.unstack(tf.shape(is_real)[:2])
    blank = tf.zeros((steps, rows, cells[0].output_size), inputs[0].dtype)

    def run_step(t, state, outputs):
        next_state, next_outputs = [], []
        for cell, read, place, m, c, output in zip(
            cells, products, (t, steps - 1 - t), state[0::2], state[1::2], outputs, strict=True
        ):
            here = tf.gather(is_real, place)  # (batch, 1)
            new_m, new_c = cell.step(tf.gather(read, place), m, c)
            new_m.set_shape(m.shape)
            new_c.set_shape(c.shape)
            row = tf.where(here, new_m, 0)[None]
            next_outputs.append(tf.tensor_scatter_nd_update(output, [[place]], row))
            next_state += [tf.where(here, new_m, m), tf.where(here, new_c, c)]
        return t + 1, next_state, next_outputs

    state = [tensor for pair in states for tensor in pair]
    _, state, outputs = tf.while_loop(
        lambda t, *_: t < steps, run_step, [tf.constant(0), state, [blank, blank]]
    )
    return [tf.transpose(x, [1, 0, 2]) for x in outputs], [state[:2], state[2:]]
