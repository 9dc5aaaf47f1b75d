"""Imports TensorFlow without the log that its libraries write to standard error as they load.

TensorFlow writes that log from C++, in part before it reads `TF_CPP_MIN_LOG_LEVEL`. So the file
descriptor of standard error is redirected while TensorFlow is imported. What was written meanwhile
is passed on afterwards, but for the lines of TensorFlow's log that report no error.

A process that dies while TensorFlow is imported shows nothing of it. With `TF_CPP_MIN_LOG_LEVEL=0`
nothing is held back.
"""

import contextlib
import functools
import os
import re
import tempfile
import threading

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
# The descriptor of the process's standard error, also while descriptor 2 is redirected.
standard_error = 2

_redirecting = threading.Lock()
# Lines of absl and of TensorFlow: "I0000 00:00:1795286128.256471    6054 file.cc:31] text" and
# "2026-01-31 12:00:00.123456: I tensorflow/file.cc:31] text". Two errors are logged where nothing
# is wrong: without a GPU (303), and by TensorFlow below 2.20. Some messages have a second line.
_is_noise = re.compile(
    rb"(\d{4}-\d\d-\d\d [\d:.]+: )?([IW]|E(?=.*(failed call to cuInit: .*(\(303\)|NO_DEVICE)"
    rb"|Unable to register cu(FFT|DNN|BLAS) factory)))(\d{4} [\d:.]+ +\d+)? \S+:\d+\] "
    rb"|WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|To enable the following instructions: |Skipping registering GPU devices"
).match


@contextlib.contextmanager
def hide_tensorflow_log():
    """Holds standard error back, also that of C++, and drops TensorFlow's log of no error from it.

    An error that leaves the block shows all that was held back. Where `TF_CPP_MIN_LOG_LEVEL` is
    below 2, nothing is held back; where it is not set, it becomes 2 (errors only). Inside of
    another such block, also of another thread, nothing happens: the other one holds back what is
    written.
    """
    global standard_error
    is_wanted = os.environ.setdefault(LEVEL, "2") in ("2", "3")
    if not is_wanted or not _redirecting.acquire(blocking=False):
        yield
        return
    shows_all = False
    with contextlib.ExitStack() as stack:
        stack.callback(_redirecting.release)
        try:
            kept = os.dup(2)
            stack.callback(os.close, kept)
            log = stack.enter_context(tempfile.TemporaryFile())
        except OSError:  # no standard error, or no place for a file
            yield
            return
        standard_error = kept
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception:
            shows_all = True
            raise
        finally:
            os.dup2(kept, 2)
            standard_error = 2
            log.seek(0)
            with contextlib.suppress(OSError), open(2, "wb", closefd=False) as stderr:
                stderr.writelines(line for line in log if shows_all or not _is_noise(line))


@functools.cache
def find_devices():
    """Lets TensorFlow look for devices, which it does once and logs.

    The models and `strings` call this before their first operation. It is not done at the import:
    a process that is forked after TensorFlow found a GPU cannot use the GPU.
    """
    import tensorflow as tf

    with hide_tensorflow_log():
        tf.config.list_physical_devices()
