"""The recurrent core: one step of an LSTM with clips and a projection, and the cell that holds it.

The gate equations are in `compute_input_gates` and `projected_lstm_step`, and nowhere else. The
loops that run the step along a sentence are in `layers/loops/`.
"""

import contextlib
import functools
import threading

import keras
from keras import ops

from keras_elmo.checks import check_clips, check_integers
from keras_elmo.layers.configured_layer import ConfiguredLayer
from keras_elmo.layers.matmul import as_factor, matmul, rounds, with_fast_gradient

# `compute_input_gates` adds this to the forget gate, as TensorFlow 1's LSTMCell does. The files
# hold the bias without it, and so do the variables. If loading added it and saving subtracted it,
# the bias would lose its last bits.
FORGET_BIAS = 1.0

_SMALL = 1 / 16  # See `projecting_in_parts`. The numbers that are projected are from -1 to 1.
_thread = threading.local()


@contextlib.contextmanager
def projecting_in_parts():
    """A context in which this thread's steps project small and large numbers apart, and add them.

    An int8 TFLite file rounds each row of a product to 256 steps, which are as large as the row's
    largest number needs. Most numbers are near zero, and have finer steps in a row of their own.
    """
    before = getattr(_thread, "projects_in_parts", False)
    _thread.projects_in_parts = True
    try:
        yield
    finally:
        _thread.projects_in_parts = before


def _project(x, kernel):
    if not getattr(_thread, "projects_in_parts", False):
        return matmul(x, kernel)
    small = ops.clip(x, -_SMALL, _SMALL)
    return sum(ops.split(matmul(ops.concatenate([small, x - small]), kernel), 2))


def projected_lstm_step(
    input_gates,
    m,
    c,
    recurrent_kernel,
    projection_kernel=None,
    cell_clip=None,
    projection_clip=None,
):
    """Computes one step of the LSTM.

        i, j, f, o = split(input_gates + m U)
        c' = clip(sigmoid(f) * c + sigmoid(i) * tanh(j), cell_clip)
        m' = clip((sigmoid(o) * tanh(c')) P, projection_clip)

    Without a projection kernel, `m' = sigmoid(o) * tanh(c')`, which is not clipped.

    Args:
        input_gates: float, (rows, 4 * units), or a list of the four gates. See
            `compute_input_gates`.
        m: float, (rows, projection_dim). The previous output. `None` stands for zeros, and saves
            the product with U.
        c: float, (rows, units). The previous cell. `None` stands for zeros.
        recurrent_kernel: U, float, (projection_dim, 4 * units), as `matmul` takes it; or a list of
            its four parts if `input_gates` is a list.
        projection_kernel: P, float, (units, projection_dim), as `matmul` takes it, or `None`.
        cell_clip, projection_clip: float or `None`.

    Returns:
        `(m', c')`, shaped as `m` and `c`.

    Reference: Sak et al. 2014; `LSTMCell` of TensorFlow 1 with `use_peepholes=False`.
    """
    if isinstance(input_gates, list):
        gates = [x + matmul(m, u) for x, u in zip(input_gates, recurrent_kernel, strict=True)]
    else:
        gates = input_gates if m is None else input_gates + matmul(m, recurrent_kernel)
        gates = ops.split(gates, 4, axis=-1)
    i, j, f, o = gates  # each (rows, units)
    remembered = 0 if c is None else ops.sigmoid(f) * c
    c = remembered + ops.sigmoid(i) * ops.tanh(j)
    if cell_clip is not None:
        c = ops.clip(c, -cell_clip, cell_clip)
    m = ops.sigmoid(o) * ops.tanh(c)
    if projection_kernel is not None:
        m = _project(m, projection_kernel)
        if projection_clip is not None:
            m = ops.clip(m, -projection_clip, projection_clip)
    return m, c


def compute_input_gates(inputs, kernel, bias, fast_gradient=False, splits_gates=False):
    """Computes what the gates get from the inputs.

        input_gates = x W + b + [0, 0, 1, 0]

    The last term is the forget bias, with one number for each of the gates i, j, f, o. The inputs
    are (..., features), and the result is (..., 4 * units); with `splits_gates` it is a list of the
    four gates, (..., units), with a product for each. For `fast_gradient` see `matmul`.
    """
    units = bias.shape[0] // 4
    is_forget = ops.cast(ops.arange(4 * units) // units == 2, bias.dtype)  # (4 * units,)
    bias = bias + FORGET_BIAS * is_forget
    if splits_gates:
        parts = zip(ops.split(kernel, 4, axis=-1), ops.split(bias, 4), strict=True)
        return [ops.add(matmul(inputs, part), part_bias) for part, part_bias in parts]
    # TensorFlow has a fast gradient for the bias of `ops.add`, and none for that of `+`.
    return ops.add(matmul(inputs, kernel, fast_gradient), bias)


@keras.saving.register_keras_serializable("keras_elmo")
class ProjectedLSTMCell(ConfiguredLayer):
    """An LSTM cell with a projection and clips, for `keras.layers.RNN`, which handles the mask.

    Its equations are those of `compute_input_gates` and `projected_lstm_step`. The gates are
    ordered i, j, f, o (input, candidate, forget, output). The arguments are those of `BiLM`.

    Args:
        always_project: bool. With `True` there is a projection whatever the sizes, so that
            `projection_dim` may be `units`, or larger.

    Reference: Sak et al. 2014, "Long Short-Term Memory Based Recurrent Neural Network
    Architectures for Large Vocabulary Speech Recognition"; `LSTMCell` of TensorFlow 1.
    """

    def __init__(
        self,
        units,
        projection_dim=None,
        cell_clip=None,
        projection_clip=None,
        always_project=False,
        kernel_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integers(1, units=units, projection_dim=projection_dim or units)
        check_clips(cell_clip=cell_clip, projection_clip=projection_clip)
        if not always_project and projection_dim is not None and not 1 <= projection_dim <= units:
            raise ValueError(
                f"`projection_dim` must be from 1 to `units` ({units}). "
                f"Received: projection_dim={projection_dim}"
            )
        self.units = units
        self.projection_dim = projection_dim
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip
        self.always_project = bool(always_project)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    @property
    def output_size(self):
        return self.projection_dim or self.units

    @property
    def state_size(self):
        return [self.output_size, self.units]

    def build(self, input_shape):
        gates = 4 * self.units
        self.kernel = self.add_kernel("kernel", input_shape[-1], gates)
        self.recurrent_kernel = self.add_kernel("recurrent_kernel", self.output_size, gates)
        self.bias = self.add_weight((gates,), "zeros", name="bias")
        self.projection_kernel = None
        if self.always_project or self.output_size != self.units:
            self.projection_kernel = self.add_kernel(
                "projection_kernel", self.units, self.output_size
            )

    def input_gates(self, inputs, fast_gradient=False, kernel=None, splits_gates=False):
        """`compute_input_gates` with this cell's weights, or with a kernel that a loop has read."""
        kernel = self.kernel if kernel is None else kernel
        bias = ops.cast(self.bias, self.compute_dtype)
        return compute_input_gates(inputs, kernel, bias, fast_gradient, splits_gates)

    def make_step(self, fast_gradient=False, splits_gates=False, is_recurrent_fixed=False):
        """`projected_lstm_step` with this cell's weights, which are read once for many steps.

        With `fast_gradient` the kernels are also transposed, see `with_fast_gradient`. A recurrent
        one that is fixed has no gradient: the caller computes it, see `with_kernel_gradient`.
        """

        def read(kernel, is_fixed=False):
            # The gradients of a rounded kernel would be added up in its dtype, step by step.
            if not fast_gradient and not (kernel.trainable and rounds(self.compute_dtype)):
                return as_factor(kernel, self.compute_dtype)
            kernel = ops.cast(kernel, self.compute_dtype)
            return with_fast_gradient(ops.stop_gradient(kernel) if is_fixed else kernel)

        recurrent, projection = self.recurrent_kernel, self.projection_kernel
        if splits_gates:
            parts = ops.split(recurrent, 4, axis=-1)
            recurrent = [as_factor(part, self.compute_dtype) for part in parts]
        else:
            recurrent = read(recurrent, is_recurrent_fixed)
        return functools.partial(
            projected_lstm_step,
            recurrent_kernel=recurrent,
            projection_kernel=None if projection is None else read(projection),
            cell_clip=self.cell_clip,
            projection_clip=self.projection_clip,
        )

    def call(self, inputs, states):
        m, c = self.make_step()(self.input_gates(inputs), *states)
        return m, [m, c]
