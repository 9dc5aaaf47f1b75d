"""`KernelRounding`: the dtype in which a model multiplies, and its frozen kernels in that dtype."""

import functools
import re
import threading

from keras_elmo.backend import ON_TENSORFLOW, tf
from keras_elmo.checks import check_choice, warn
from keras_elmo.layers.matmul import using_matmul_dtype
from keras_elmo.process.traced_function import TracedFunction

MATMUL_DTYPES = (None, "bfloat16")
PROCESSOR_FILE = "/proc/cpuinfo"  # of Linux


def traced(method):
    """A method of tensors whose eager calls run a graph of it, with kernels that were rounded.

    Its object has a `kernel_rounding`. All sizes but that of features or character ids may vary.
    On Keras's other backends it is the method itself.
    """
    if not ON_TENSORFLOW:
        return method
    name = f"_graph_of{method.__name__}"

    def spec_of(value):
        value = tf.convert_to_tensor(value)
        shape, has_features = value.shape, value.dtype.is_floating or value.shape.rank == 3
        last = shape[-1:].as_list() if has_features else [None] * min(shape.rank, 1)
        return tf.TensorSpec([None] * (shape.rank - 1) + last, value.dtype)

    @functools.wraps(method)
    def call(self, *args):
        if not tf.executing_eagerly():
            return method(self, *args)
        if name not in self.__dict__:
            options = {"input_signature": tf.nest.map_structure(spec_of, args)}
            graph = self.kernel_rounding.traced(method.__get__(self), **options)
            self.__dict__[name] = graph  # not by `setattr`, which Keras looks at
        return self.__dict__[name](*args)

    return call


class KernelRounding:
    """The dtype that a model multiplies in: `None`, for that of the layers, or `"bfloat16"`.

    Casting all kernels of the original model takes as long as half a sentence. So the graphs that
    `traced` makes read frozen kernels that were rounded before. Graphs that others make (`fit`, an
    outer model) round the kernels themselves, as every graph does with kernels that train.
    """

    def __init__(self, dtype):
        self._thread = threading.local()
        self.set_dtype(dtype)

    def set_dtype(self, dtype):
        check_choice(MATMUL_DTYPES, matmul_dtype=dtype)
        if dtype is not None:
            warn_of_slow_processor()
        self.dtype = dtype
        self.reset()

    def reset(self):
        """Forgets the graphs, and the rounded kernels with them. Calls that run keep theirs."""
        self._rounded = RoundedKernels()  # graphs are made for one such object

    def expire(self):
        """Says that kernels may change now: the next call rounds them anew."""
        self._rounded.is_expired = True

    def context(self):
        rounded = getattr(self._thread, "rounded", None)
        return using_matmul_dtype(self.dtype, None if rounded is None else rounded.find)

    def traced(self, function, **options):
        """Like `TracedFunction`, for eager calls alone, with kernels that were rounded before."""
        made = None, None

        def call(*args):
            nonlocal made
            # Another thread may reset meanwhile, so this call takes hold of what it needs.
            rounded, (known, trace) = self._rounded, made
            if known is not rounded:
                made = rounded, trace = rounded, TracedFunction(function, **options)
            rounded.update()
            self._thread.rounded = rounded
            try:
                return trace(*args)
            finally:
                self._thread.rounded = None

        return call


class RoundedKernels:
    """Frozen kernels in the dtype of the products, for graphs that read them."""

    def __init__(self):
        self._lock = threading.Lock()
        self._pairs = {}  # by the id of a `tf.Variable`: it, and one that holds it rounded
        self.is_expired = False

    def find(self, variable, dtype):
        """A frozen variable's value, rounded and transposed, for the graph that is being traced."""
        if variable.trainable:
            return None
        if not isinstance(variable.value, tf.Variable) or "CPU" not in variable.value.device:
            return None  # other devices round them in no time
        variable = variable.value  # Keras would cast it in the scope of another layer.
        with self._lock, tf.init_scope(), tf.device(variable.device):
            if id(variable) not in self._pairs:
                rounded = tf.Variable(round_kernel(variable, dtype), trainable=False)
                self._pairs[id(variable)] = variable, rounded
            _, rounded = self._pairs[id(variable)]
        return rounded.read_value()

    def update(self):
        with self._lock:
            if self.is_expired:
                self.is_expired = False
                for variable, rounded in self._pairs.values():
                    rounded.assign(round_kernel(variable, rounded.dtype))


def round_kernel(variable, dtype):
    """A kernel as `TransposedKernel` holds it."""
    return tf.transpose(tf.cast(variable.read_value(), dtype))


@functools.cache  # one warning
def warn_of_slow_processor():
    """Warns where products in bfloat16 are slower than in float32, if that can be told."""
    if not ON_TENSORFLOW or tf.config.list_physical_devices("GPU"):
        return
    try:
        with open(PROCESSOR_FILE, encoding="utf-8") as file:
            flags = set(re.search(r"^(?:flags|Features)\s*:(.*)$", file.read(), re.M)[1].split())
    except (OSError, TypeError):  # another system than Linux, or another form of the file
        return
    if not flags & {"amx_bf16", "avx512_bf16", "bf16"}:
        warn(
            'matmul_dtype="bfloat16" makes this model slower: the processor has no instructions '
            "for bfloat16 (AMX, AVX-512 BF16 or ARM's BF16). Set `matmul_dtype=None`."
        )
