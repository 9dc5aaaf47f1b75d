"""`TracedFunction`: a `tf.function` that TensorFlow does not warn about."""

import contextlib
import functools
import gc
import logging

import keras

from keras_elmo.backend import tf


@contextlib.contextmanager
def without_trace_warnings():
    """A context in which TensorFlow does not warn of many traces: each Keras model has its own."""

    def is_other(record):
        return "triggered tf.function retracing" not in record.getMessage()

    logger = logging.getLogger("tensorflow")
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)


class TracedFunction:
    """A `tf.function` of tensors, called through its concrete functions.

    TensorFlow counts the traces of a `tf.function` by its source code, and warns when there are
    many, even where each trace belongs to another model. It does not count the traces of concrete
    functions. Retracing is unchanged.

    The function must call TensorFlow's own conditions and loops: AutoGraph, which would only make
    the first call slower, is off. In a `keras.StatelessScope` it runs without a trace, which would
    keep the values that variables have there.
    """

    def __init__(self, function, **options):
        @functools.wraps(function)
        def trace(*args):
            # A trace makes many objects that live long: each collection would look at all of them.
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                return function(*args)
            finally:
                if was_enabled:
                    gc.enable()

        self._plain = function
        self._function = tf.function(trace, autograph=False, **options)

    def __call__(self, *args):
        with keras.StatelessScope(initialize_variables=False) as scope:
            is_inside_another = scope.original_scope is not None
        if is_inside_another:
            return self.run_untraced(*args)
        return self._function.get_concrete_function(*args)(*args)

    def run_untraced(self, *args):
        return self._plain(*args)
