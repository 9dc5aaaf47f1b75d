"""`keep_memory`: the process keeps the memory that it frees."""

import ctypes

# Options of glibc's `mallopt`, and their values in bytes: larger blocks come from the system one by
# one, so much free memory goes back to it, and so much is taken from it ahead.
_OPTIONS = {-3: 2**30, -1: 2**31 - 1, -2: 2**26}  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_TOP_PAD


def keep_memory() -> bool:
    """Tells the process to keep the memory that it frees, for the next batch.

    By default, glibc gives large blocks back to the system at once, and on some machines TensorFlow
    then waits for new pages in each batch of `embed`. The commands of `keras-elmo` call this
    themselves. A program calls it once, at its start: it is for the whole process, and cannot be
    undone. Returns whether it was done: only on Linux with glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another system, or another C library
        return False
    return all([mallopt(option, value) for option, value in _OPTIONS.items()])
