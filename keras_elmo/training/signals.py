"""`StopSignals`: SIGINT and SIGTERM ask a run to stop after its step."""

import contextlib
import signal
import threading


class Interrupted(KeyboardInterrupt):
    """A signal stopped the training. The message says from where it can go on.

    Args:
        message: str.
        signal_number: SIGINT or SIGTERM.
    """

    def __init__(self, message, signal_number=signal.SIGINT):
        super().__init__(message)
        self.signal_number = signal_number


class StopSignals:
    """A context in which the main thread takes note of SIGINT and SIGTERM.

    The first signal only makes `is_set` true. The second one raises `Interrupted`.

    Args:
        message: a function that returns the message of the `Interrupted` that is raised.
    """

    def __init__(self, message):
        self._message = message
        self._stop_requested = threading.Event()
        self._signal_number = signal.SIGINT
        self._is_raising = False
        self._previous_handlers = {}

    def is_set(self):
        """Whether a signal came."""
        return self._stop_requested.is_set()

    def error(self):
        """The `Interrupted` to raise for the signal that came."""
        return Interrupted(self._message(), self._signal_number)

    @contextlib.contextmanager
    def raising(self):
        """A context in which the first signal raises at once, too."""
        self._is_raising = True
        try:
            if self.is_set():
                raise self.error()
            yield
        finally:
            self._is_raising = False

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for signal_number in (signal.SIGINT, signal.SIGTERM):
                previous = signal.signal(signal_number, self._handle)
                self._previous_handlers[signal_number] = previous
        return self

    def __exit__(self, *_):
        self._stop_requested.clear()
        while self._previous_handlers:
            signal.signal(*self._previous_handlers.popitem())

    def _handle(self, signal_number, _):
        self._signal_number = signal_number
        if self.is_set() or self._is_raising:
            raise self.error()
        self._stop_requested.set()
