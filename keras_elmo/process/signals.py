"""SIGINT and SIGTERM: they stop a run between two of its batches.

Python runs signal handlers also in code that TensorFlow's C++ calls, where an exception ends in a
crash or in another error. So the first signal is noted, and `check_signals` raises where only plain
Python is on the stack.
"""

import contextlib
import signal
import threading

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_noted = None  # the number of the first signal within `noting_signals`
_is_noting = False  # whether this process is within `noting_signals`
_is_raising = False  # whether its main thread is within `raising_signals`
_was_raised = False


class Interrupted(KeyboardInterrupt):
    """A signal, SIGINT or SIGTERM, stopped a run. The message says what was kept."""

    def __init__(self, message="", signal_number=signal.SIGINT):
        super().__init__(message)
        self.signal_number = signal_number


@contextlib.contextmanager
def noting_signals(second_handler=None):
    """A context in which the first SIGINT or SIGTERM is noted, and interrupts nothing.

    Nothing changes inside of another such context, in other threads than the main one, and for a
    signal with another handler than the default. A signal that nothing has looked for is handled at
    the end as before. `second_handler` handles the second signal; `None`: what did before.
    """
    global _noted, _is_noting, _was_raised
    if _is_noting or threading.current_thread() is not threading.main_thread():
        yield
        return
    defaults = signal.SIG_DFL, signal.default_int_handler
    previous = {n: h for n in _STOP_SIGNALS if (h := signal.getsignal(n)) in defaults}

    def note(number, _):
        global _noted
        _noted = number
        for each, handler in previous.items():
            signal.signal(each, handler if second_handler is None else second_handler)
        if _is_raising:
            check_signals()

    _is_noting = True
    try:
        for number in previous:
            signal.signal(number, note)
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        late = None if _was_raised else _noted
        _noted, _is_noting, _was_raised = None, False, False
    if late is not None:
        signal.raise_signal(late)


@contextlib.contextmanager
def raising_signals():
    """A context, for waits outside of TensorFlow, in which a noted signal raises at once."""
    global _is_raising
    check_signals()
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _is_raising = True
    try:
        yield
    finally:
        _is_raising = False


def noted_signal():
    return _noted


def check_signals(message=""):
    """Raises `Interrupted` if a signal was noted. Long work calls it after each of its parts."""
    global _was_raised
    if _noted is not None:
        _was_raised = True
        raise Interrupted(message, _noted)
