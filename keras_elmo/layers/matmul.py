"""`matmul`: a matrix product whose gradient, and whose arithmetic, can be made faster."""

import contextlib
import threading
from typing import NamedTuple

import keras
from keras import ops

_thread = threading.local()  # see `using_matmul_dtype`


class FastKernel(NamedTuple):
    """A kernel for products whose gradient is fast. `with_fast_gradient` makes it.

    Attributes:
        kernel: float, (n, m).
        factor: float, (n, m). The kernel in the dtype of the products.
        transposed: float, (m, n), of the same dtype.
    """

    kernel: object
    factor: object
    transposed: object


@contextlib.contextmanager
def using_matmul_dtype(dtype):
    """A context in which this thread computes the products of training in another dtype.

    It holds for every `FastKernel` that is made in it. Both factors are rounded to that dtype, and
    the product is returned in the dtype of the first factor.

    Args:
        dtype: string, such as `"bfloat16"`; or `None`, for the dtype of the factors.
    """
    before, _thread.dtype = getattr(_thread, "dtype", None), dtype
    try:
        yield
    finally:
        _thread.dtype = before


def with_fast_gradient(kernel):
    """Transposes a kernel once, for the gradients of many products with it.

    The gradient of a product for its first factor is a product with the transposed kernel. On
    processors, TensorFlow takes longer to multiply by a transposed second factor than to multiply
    by a matrix that was transposed before: 1.25 times as long for 2,048 x 2,048, and four times as
    long for 32 rows and a kernel of 128 x 4,096.

    Args:
        kernel: float, (n, m).

    Returns:
        A `FastKernel`, and on other backends than TensorFlow the kernel itself.
    """
    if keras.backend.backend() != "tensorflow":
        return kernel
    # TensorFlow's graph optimizer would merge a plain transposition with the product again. It does
    # not do so for a batch of one matrix.
    factor = ops.cast(kernel, getattr(_thread, "dtype", None) or kernel.dtype)
    return FastKernel(kernel, factor, ops.squeeze(ops.transpose(factor[None], (0, 2, 1)), 0))


def matmul(x, kernel, fast_gradient=False):
    """Computes `x @ kernel`.

    Args:
        x: float, (..., n).
        kernel: float, (n, m), or a `FastKernel` of one.
        fast_gradient: bool. Make a `FastKernel` of the kernel. The values and the gradients stay
            the same, except in the context of `using_matmul_dtype`.

    Returns:
        float, (..., m).
    """
    # The cast also reads a variable. `custom_gradient` does not take variables.
    x = ops.convert_to_tensor(x)
    if not isinstance(kernel, FastKernel):
        kernel = ops.cast(kernel, keras.backend.standardize_dtype(x.dtype))
        kernel = with_fast_gradient(kernel) if fast_gradient else kernel
    if not isinstance(kernel, FastKernel):
        return ops.matmul(x, kernel)

    def product(x, _, factor):
        x_factor = ops.cast(x, factor.dtype)

        def gradient(*arguments, upstream=None):
            upstream = arguments[0] if upstream is None else upstream
            upstream = ops.cast(upstream, factor.dtype)
            rows = ops.reshape(x_factor, (-1, factor.shape[0]))  # (rows, n)
            upstream_rows = ops.reshape(upstream, (-1, factor.shape[1]))  # (rows, m)
            return (
                ops.cast(ops.matmul(upstream, kernel.transposed), x.dtype),
                ops.cast(ops.matmul(ops.transpose(rows), upstream_rows), x.dtype),
                None,  # The gradient of a kernel is not rounded before it is added to others.
            )

        return ops.cast(ops.matmul(x_factor, factor), x.dtype), gradient

    return ops.custom_gradient(product)(x, kernel.kernel, kernel.factor)
