"""`StopSignals`: SIGINT and SIGTERM end a run after its step."""

import contextlib
import signal
import threading


class Interrupted(KeyboardInterrupt):
    """Training was told to stop; the message says from where it can go on.

    Args:
        message: str.
        signal_number: SIGINT or SIGTERM.
    """

    def __init__(self, message, signal_number=signal.SIGINT):
        super().__init__(message)
        self.signal_number = signal_number


class StopSignals:
    """Notes SIGINT and SIGTERM while it is entered, in the main thread; the second one raises.

    Args:
        message: a function that gives the message of the `Interrupted` that is then raised.
    """

    def __init__(self, message):
        self._message = message
        self._came = threading.Event()
        self._number = signal.SIGINT
        self._is_raising = False
        self._handlers = {}

    def is_set(self):
        """Whether one came."""
        return self._came.is_set()

    def error(self):
        """The `Interrupted` to raise for the signal that came."""
        return Interrupted(self._message(), self._number)

    @contextlib.contextmanager
    def raising(self):
        """While it is entered, the first signal raises too, at once."""
        self._is_raising = True
        try:
            if self.is_set():
                raise self.error()
            yield
        finally:
            self._is_raising = False

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_):
        self._came.clear()
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def _note(self, number, _):
        self._number = number
        if self.is_set() or self._is_raising:  # at once
            raise self.error()
        self._came.set()
