"""`dataset_from_generator`: a `tf.data.Dataset` of the dicts that a Python generator yields."""

import atexit
import functools
import itertools
import os
import weakref

import numpy as np
import tensorflow as tf

_ALIGNMENT = 64  # bytes. TensorFlow shares the memory of arrays that begin at such an address.
_PREFETCHED = 4  # batches: enough that a slow one (a new shard) delays no training step


def dataset_from_generator(make_generator, specs):
    """A dataset of the dicts of arrays that a generator yields.

    It does what `tf.data.Dataset.from_generator` does, except for two faults of that function
    (TensorFlow 2.21):

    - It sets the memory allocator of the process so that every large tensor takes new pages from
      the system, which made a training step 10 % slower.
    - A process hangs at its exit if an iterator of the dataset still exists and reads ahead, for
      example after an error in `fit`: the iterator waits for its thread, and the thread waits for
      the Python interpreter, which has ended. Here no thread is in Python when the interpreter
      ends; see `_gate`.

    A generator is closed when its iterator is deleted, if it was read more than once. Only one
    generator runs at a time, so a generator must not read such a dataset.

    Args:
        make_generator: a function without arguments that returns a new generator. Each iterator
            of the dataset has a generator of its own.
        specs: dict of `tf.TensorSpec`s, one for each entry of what is yielded.
    """
    names = list(specs)
    dtypes = [tf.int64, tf.bool, *(spec.dtype for spec in specs.values())]
    placeholders = [
        np.zeros([size or 0 for size in spec.shape], spec.dtype.as_numpy_dtype)
        for spec in specs.values()
    ]
    generators = _Generators(make_generator)
    mutex, is_exiting = _gate()

    def read_next(token):
        token, batch = generators.read_next(token)
        values = placeholders if batch is None else [batch[name] for name in names]
        return [token, np.array(batch is not None), *values]

    def read_next_in_graph(token, _):
        # After an error, or when the iterator is deleted, TensorFlow releases the lock, too.
        lock = tf.raw_ops.MutexLock(mutex=mutex)
        with tf.control_dependencies([lock]):
            token, has_batch, *values = tf.cond(
                tf.raw_ops.ReadVariableOp(resource=is_exiting, dtype=tf.bool),
                lambda: [token, tf.constant(False), *map(tf.constant, placeholders)],
                lambda: tf.numpy_function(read_next, [token], dtypes),
            )
        with tf.control_dependencies([has_batch]):
            tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)
        token.set_shape((1,))
        has_batch.set_shape(())
        for value, spec in zip(values, specs.values(), strict=True):
            value.set_shape(spec.shape)
        return token, (has_batch, dict(zip(names, values, strict=True)))

    dataset = tf.data.Dataset.counter().scan(tf.constant([-1], tf.int64), read_next_in_graph)
    dataset = dataset.take_while(lambda has_batch, _: has_batch).map(lambda _, batch: batch)
    return dataset.prefetch(_PREFETCHED)


class _Generators:
    """The generators of the iterators of a dataset.

    The state of an iterator is a token, an array with the id of its generator. TensorFlow keeps the
    token as long as the iterator exists. When the token is deleted, the generator is closed.
    """

    def __init__(self, make_generator):
        self._make_generator = make_generator
        self._generators, self._tokens, self._new_ids = {}, {}, itertools.count()

    def read_next(self, token):
        """The token of an iterator for its next call, and a batch or `None`.

        Args:
            token: int64, (1,). A negative number for an iterator that begins.
        """
        if token[0] < 0:
            token = _aligned_array(next(self._new_ids))
            generator_id = int(token[0])
            self._generators[generator_id] = self._make_generator()
            self._tokens[generator_id] = lambda: token
        else:
            generator_id = int(token[0])
            own = self._tokens[generator_id]()
            if token.ctypes.data == own.ctypes.data:  # TensorFlow keeps our array, and no copy
                self._tokens[generator_id] = weakref.ref(
                    own, functools.partial(self._forget, generator_id)
                )
            token = own
        batch = next(self._generators[generator_id], None)
        if batch is None:
            self._generators[generator_id] = iter(())  # This frees the memory of the generator.
        return token, batch

    def _forget(self, generator_id, _):
        del self._tokens[generator_id], self._generators[generator_id]


def _aligned_array(value):
    """An int64 array, (1,), whose memory TensorFlow shares."""
    memory = np.empty(2 * _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    array = memory[start : start + 8].view(np.int64)
    array[0] = value
    return array


@functools.cache
def _gate():
    """What keeps TensorFlow's threads out of Python when the interpreter ends: two resources.

    A thread that is in Python, or asks whether the process exits, holds the mutex. At the exit the
    main thread notes it in the variable, also with the mutex. From then on no thread is in Python,
    and none comes in: every iterator ends.
    """
    with tf.init_scope(), tf.device("CPU:0"):
        names = {"shared_name": "keras_elmo.generators", "container": ""}
        mutex = tf.raw_ops.MutexV2(**names)
        is_exiting = tf.raw_ops.VarHandleOp(dtype=tf.bool, shape=[], **names)
        tf.raw_ops.AssignVariableOp(resource=is_exiting, value=tf.constant(False))
    process_id = os.getpid()

    def close():
        if os.getpid() == process_id:  # A forked process has none of the threads.
            lock = tf.raw_ops.MutexLock(mutex=mutex)
            tf.raw_ops.AssignVariableOp(resource=is_exiting, value=tf.constant(True))
            tf.raw_ops.ConsumeMutexLock(mutex_lock=lock)

    atexit.register(close)
    return mutex, is_exiting
