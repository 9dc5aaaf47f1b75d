"""Imports TensorFlow without the log that its libraries write to standard error as they load.

TensorFlow writes that log from C++, in part before it reads `TF_CPP_MIN_LOG_LEVEL`. So the file
descriptor of standard error is redirected while TensorFlow is imported. What was written meanwhile
is passed on afterwards, but for the lines of TensorFlow's log that report no error.

A process that dies while TensorFlow is imported shows nothing of it. With `TF_CPP_MIN_LOG_LEVEL=0`
nothing is held back.
"""

import contextlib
import os
import re
import tempfile
import threading

LEVEL = "TF_CPP_MIN_LOG_LEVEL"
_DEFAULT = "2"  # errors only
_STDERR = 2

# Lines of absl and of TensorFlow: "I0000 00:00:1795286128.256471    6054 file.cc:31] text" and
# "2026-01-31 12:00:00.123456: I tensorflow/file.cc:31] text".
_SOURCE = rb"(?:(%b)\d{4} [\d:.]+ +\d+|\d{4}-\d\d-\d\d [\d:.]+: (%b)) \S+:\d+\] "
_NOISE = [
    _SOURCE % (b"[IW]", b"[IW]"),
    rb"WARNING: All log messages before absl::InitializeLog\(\)",
    # The second lines of such messages.
    rb"To enable the following instructions: ",
    rb"Skipping registering GPU devices",
    # Logged as errors where there is no GPU: no driver (303), or none of the GPUs is to be used.
    _SOURCE % (b"E", b"E") + rb"failed call to cuInit: .*(\(303\)|CUDA_ERROR_NO_DEVICE)",
    # TensorFlow below 2.20, on every machine.
    _SOURCE % (b"E", b"E") + rb"Unable to register cu(FFT|DNN|BLAS) factory",
]
_IS_NOISE = re.compile(b"|".join(_NOISE)).match

_redirecting = threading.Lock()
_kept = None  # the standard error of the process, while its descriptor is redirected
_has_devices = False


@contextlib.contextmanager
def hide_tensorflow_log():
    """Holds standard error back, also that of C++, and drops TensorFlow's log of no error from it.

    An error that leaves the block shows all that was held back. Where `TF_CPP_MIN_LOG_LEVEL` is
    below 2, nothing is held back; where it is not set, it becomes 2. Inside of another such block,
    also of another thread, nothing happens: the other one holds back what is written.
    """
    level = os.environ.setdefault(LEVEL, _DEFAULT)
    is_wanted = level.isdecimal() and int(level) >= 2
    if not is_wanted or not _redirecting.acquire(blocking=False):
        yield
        return
    try:
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # no standard error, or no place for a file
                stack.enter_context(_redirected())
            yield
    finally:
        _redirecting.release()


def find_devices():
    """Lets TensorFlow look for devices, which it does once and logs.

    The models call this before their first operation. It is not done at the import: a process that
    is forked after TensorFlow found a GPU cannot use the GPU.
    """
    global _has_devices
    if _has_devices:
        return
    import tensorflow as tf

    with hide_tensorflow_log():
        tf.config.list_physical_devices()
    _has_devices = True


def standard_error():
    """The descriptor of the process's standard error, also while it is redirected."""
    return _STDERR if _kept is None else _kept


@contextlib.contextmanager
def _redirected():
    global _kept
    with contextlib.ExitStack() as stack:
        kept = os.dup(_STDERR)
        stack.callback(os.close, kept)
        log = stack.enter_context(tempfile.TemporaryFile())
        shows_all = False
        _kept = kept
        os.dup2(log.fileno(), _STDERR)
        try:
            yield
        except Exception:
            shows_all = True
            raise
        finally:
            os.dup2(kept, _STDERR)
            _kept = None
            log.seek(0)
            lines = [line for line in log if shows_all or not _IS_NOISE(line)]
            with contextlib.suppress(OSError):  # nobody reads it
                with open(kept, "wb", closefd=False) as stderr:
                    stderr.writelines(lines)


def _restore():
    """A process that another thread forks while standard error is redirected gets its own back."""
    if _kept is not None:
        os.dup2(_kept, _STDERR)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_restore)
