"""`StopSignals`: SIGINT and SIGTERM end a run after its step."""

import signal
import threading


class Interrupted(KeyboardInterrupt):
    """Training was told to stop; the message says from where it can go on."""


class StopSignals:
    """Notes SIGINT and SIGTERM while it is entered, in the main thread; the second one raises.

    Args:
        message: a function that gives the message of the `Interrupted` that is then raised.
    """

    def __init__(self, message):
        self._message = message
        self._came = threading.Event()
        self._handlers = {}

    def is_set(self):
        """Whether one came."""
        return self._came.is_set()

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
        if self.is_set():  # once more: at once
            raise Interrupted(self._message())
        self._came.set()
