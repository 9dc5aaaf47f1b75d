"""`matmul`: a matrix product whose gradient, and whose arithmetic, can be made faster."""

import contextlib
import threading
from typing import NamedTuple

import keras
from keras import ops

from keras_elmo.backend import ON_TENSORFLOW


class _Thread(threading.local):
    """What `using_matmul_dtype` says for a thread."""

    dtype = None
    rounded = None


_thread = _Thread()


class FastKernel(NamedTuple):
    """A kernel for products whose gradient is fast. `with_fast_gradient` makes it."""

    kernel: object  # (n, m)
    factor: object  # (n, m), in the dtype of the products
    transposed: object  # (m, n), of the same dtype


class TransposedKernel(NamedTuple):
    """A kernel that was rounded before, as it multiplies fastest. `as_factor` makes it.

    In bfloat16, TensorFlow multiplies up to twice as fast by a second factor that lies transposed
    in memory: with few rows, most of the time goes into rearranging the other form. In float32 it
    is the other way round.
    """

    transposed: object  # (m, n)


@contextlib.contextmanager
def using_matmul_dtype(dtype, rounded=None):
    """A context in which this thread multiplies by kernels in another dtype.

    Both factors are rounded to that dtype, and so is the product, which is given back in the dtype
    of the first factor. With `None` it is the dtype of the context around this one, if any.
    `rounded` is a function of a variable and a dtype that returns the variable's transposed value
    in the dtype, or `None` if it does not have it. It needs Keras's TensorFlow backend.
    """
    before = _thread.dtype, _thread.rounded
    _thread.dtype, _thread.rounded = dtype or _thread.dtype, rounded or _thread.rounded
    try:
        yield
    finally:
        _thread.dtype, _thread.rounded = before


def rounds(dtype):
    """Whether products of factors of a dtype are computed in another one, in this context."""
    return _thread.dtype not in (None, dtype)


def as_factor(kernel, dtype):
    """A kernel as `matmul` multiplies by it. Whoever multiplies often reads it once with this.

    The dtype is that of the products, unless `using_matmul_dtype` has another.
    """
    if _thread.dtype is None:
        return ops.cast(kernel, dtype)
    if isinstance(kernel, TransposedKernel):
        return kernel
    if _thread.rounded is not None and isinstance(kernel, keras.Variable):
        transposed = _thread.rounded(kernel, _thread.dtype)
        if transposed is not None:
            return TransposedKernel(transposed)
    return ops.cast(kernel, _thread.dtype)


def with_fast_gradient(kernel):
    """Transposes a kernel, (n, m), once for the gradients of many products with it.

    On processors, TensorFlow takes up to four times as long to multiply by a transposed second
    factor as by a matrix that was transposed before. Other backends get the kernel itself.
    """
    if not ON_TENSORFLOW:
        return kernel
    # TensorFlow's graph optimizer would merge a plain transposition with the product again. It does
    # not do so for a batch of one matrix.
    factor = as_factor(kernel, kernel.dtype)
    return FastKernel(kernel, factor, ops.squeeze(ops.transpose(factor[None], (0, 2, 1)), 0))


def with_kernel_gradient(sums, kernel, factors):
    """Returns `sums`, and gives a kernel the gradient of many products with it as one product.

    Each of `sums[k] + factors[k] @ kernel` is computed later, with a kernel that has no gradient of
    its own; the list of factors may be filled then. The gradient of each product for the kernel
    would be as large as the kernel, and all of them would have to be added up. The shapes are
    (products, rows, m), (n, m), and (rows, n) for each factor.
    """
    dtype = keras.backend.standardize_dtype(sums.dtype)
    product_dtype = _thread.dtype or dtype

    def identity(sums, _):
        def gradient(upstream):
            return upstream, _kernel_gradient(ops.stack(factors), upstream, product_dtype, dtype)

        return sums, gradient

    return ops.custom_gradient(identity)(sums, ops.cast(kernel, dtype))


def matmul(x, kernel, fast_gradient=False):
    """Computes `x @ kernel`, (..., n) and (n, m), in the dtype that `using_matmul_dtype` says.

    The kernel may be what `as_factor` or `with_fast_gradient` made of it. With `fast_gradient` it
    becomes a `FastKernel`; the values are the same, and the gradients up to rounding.
    """
    x = ops.convert_to_tensor(x)
    dtype = keras.backend.standardize_dtype(x.dtype)
    if fast_gradient and not isinstance(kernel, FastKernel | TransposedKernel):
        # The cast also reads a variable. `custom_gradient` does not take variables.
        kernel = with_fast_gradient(ops.cast(kernel, dtype))
    if isinstance(kernel, FastKernel):
        return _fast_gradient_product(x, kernel)
    factor = as_factor(kernel, dtype)
    if isinstance(factor, TransposedKernel):
        return ops.cast(_times_transposed(x, factor.transposed), dtype)
    return ops.cast(ops.matmul(ops.cast(x, factor.dtype), factor), dtype)


def _fast_gradient_product(x, fast_kernel):
    def product(x, _, factor):
        is_rounded = factor.dtype != x.dtype
        x_factor = ops.cast(x, factor.dtype)

        def gradient(upstream):
            upstream = ops.cast(upstream, factor.dtype)
            if is_rounded:
                x_gradient = _times_transposed(upstream, factor)
            else:
                x_gradient = ops.matmul(upstream, fast_kernel.transposed)
            return (
                ops.cast(x_gradient, x.dtype),
                _kernel_gradient(x_factor, upstream, factor.dtype, x.dtype),
                None,  # The gradient of a kernel is not rounded before it is added to others.
            )

        if is_rounded:
            y = _times_transposed(x_factor, fast_kernel.transposed)
        else:
            y = ops.matmul(x_factor, factor)
        return ops.cast(y, x.dtype), gradient

    return ops.custom_gradient(product)(x, fast_kernel.kernel, fast_kernel.factor)


def _kernel_gradient(x, upstream, product_dtype, dtype):
    """The gradient of `x @ kernel` for the kernel: (..., n), (..., m) -> (n, m)."""
    x, upstream = (
        ops.reshape(ops.cast(factor, product_dtype), (-1, factor.shape[-1]))
        for factor in (x, upstream)
    )
    return ops.cast(ops.matmul(ops.transpose(x), upstream), dtype)


def _times_transposed(x, transposed):
    """A product of x (..., n), in the dtype of the transposed factor (m, n): (..., m)."""
    rows = ops.reshape(ops.cast(x, transposed.dtype), (-1, transposed.shape[1]))
    # In graphs, TensorFlow merges the transposition with the product, and copies nothing.
    y = ops.matmul(rows, ops.transpose(transposed))
    return ops.reshape(y, (*ops.shape(x)[:-1], transposed.shape[0]))
