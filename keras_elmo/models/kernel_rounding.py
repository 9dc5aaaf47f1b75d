"""`KernelRounding`: the dtype in which a model multiplies, and its frozen kernels in that dtype."""

import functools
import re
import threading
import warnings
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_elmo.checks import check_choice
from keras_elmo.layers.matmul import using_matmul_dtype
from keras_elmo.traced_function import TracedFunction

MATMUL_DTYPES = (None, "bfloat16")
PROCESSOR_FILE = "/proc/cpuinfo"  # of Linux


class KernelRounding:
    """What a model multiplies in.

    Casting all kernels of the original model takes as long as half a sentence. So the graphs that
    `traced` makes, which only eager calls run, read frozen kernels that were rounded before. Each
    such call first compares the kernels with those that were rounded, and rounds anew those that
    have changed. Graphs that others make (`fit`, an outer model) round the kernels themselves.

    Attributes:
        dtype: `None`, for that of the layers, or `"bfloat16"`.
    """

    def __init__(self, dtype):
        self._lock = threading.Lock()
        self._thread = threading.local()
        self.set_dtype(dtype)

    def set_dtype(self, dtype):
        """Changes the dtype. Graphs are traced anew."""
        check_choice(MATMUL_DTYPES, matmul_dtype=dtype)
        if dtype is not None:
            warn_of_slow_processor()
        self.dtype = dtype
        self.reset()

    def reset(self):
        """Forgets the graphs, and the rounded kernels with them. Calls that run keep theirs."""
        self._rounded = {}  # by the id of the variable; graphs are made for one such dict

    def context(self):
        """A context in which layers multiply in the dtype."""
        keeps = getattr(self._thread, "rounded", None) is not None
        return using_matmul_dtype(self.dtype, self._find if keeps else None)

    def traced(self, function, **options):
        """Like `TracedFunction`, for eager calls alone, with kernels that were rounded before."""
        made = None, None

        def call(*args):
            nonlocal made
            # Another thread may reset meanwhile, so this call takes hold of what it needs.
            rounded, (known, trace) = self._rounded, made
            if known is not rounded:
                made = rounded, trace = rounded, TracedFunction(function, **options)
            self._refresh(rounded)
            self._thread.rounded = rounded
            try:
                return trace(*args)
            finally:
                self._thread.rounded = None

        return call

    def _find(self, variable, dtype):
        """A frozen variable's value, rounded and transposed, for the graph that is being traced."""
        if variable.trainable:
            return None
        if not isinstance(variable.value, tf.Variable) or "CPU" not in variable.value.device:
            return None  # Other devices round faster than they could be asked for changes.
        entries = self._thread.rounded
        variable = variable.value  # Keras would cast it in the scope of another layer.
        with self._lock, tf.init_scope(), tf.device(variable.device):
            if id(variable) not in entries:
                value = variable.read_value()
                rounded = tf.Variable(round_kernel(value, dtype), trainable=False)
                entries[id(variable)] = _Rounded(variable, value, rounded)
            entry = entries[id(variable)]
        return entry.rounded.read_value()

    def _refresh(self, entries):
        """Rounds anew what has changed since it was rounded."""
        with self._lock:
            for key, (variable, before, rounded) in entries.items():
                value = variable.read_value()
                # A variable that changes gets another buffer, as long as `before` holds the old.
                if _address(value) != _address(before):
                    rounded.assign(round_kernel(value, rounded.dtype))
                    entries[key] = _Rounded(variable, value, rounded)


class _Rounded(NamedTuple):
    """A kernel that was rounded.

    Attributes:
        variable: the `tf.Variable` of the Keras variable.
        value: its value when it was rounded. The tensor shares the variable's memory.
        rounded: `tf.Variable`.
    """

    variable: object
    value: object
    rounded: object


def round_kernel(value, dtype):
    """A kernel as `TransposedKernel` holds it."""
    return tf.transpose(tf.cast(value, dtype))


def _address(tensor):
    return np.asarray(memoryview(tensor)).ctypes.data


@functools.cache  # one warning
def warn_of_slow_processor():
    """Warns where products in bfloat16 are slower than in float32, if that can be told."""
    if tf.config.list_physical_devices("GPU"):
        return
    try:
        with open(PROCESSOR_FILE, encoding="utf-8") as file:
            flags = set(re.search(r"^(?:flags|Features)\s*:(.*)$", file.read(), re.M)[1].split())
    except (OSError, TypeError):  # another system than Linux, or another form of the file
        return
    if not flags & {"amx_bf16", "avx512_bf16", "bf16"}:
        warnings.warn(
            'matmul_dtype="bfloat16" makes this model slower: the processor has no instructions '
            "for bfloat16 (AMX, AVX-512 BF16 or ARM's BF16). Set `matmul_dtype=None`.",
            stacklevel=2,
        )
