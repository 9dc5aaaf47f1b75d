import os
import signal
import threading

import pytest

from keras_elmo.training.signals import Interrupted, StopSignals

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


def send(number):
    os.kill(os.getpid(), number)


@BOTH
def test_first_signal_is_noted_and_the_second_raises(number):
    before = signal.getsignal(number)
    stop = StopSignals(lambda: "go on from here")
    with pytest.raises(Interrupted, match="go on from here") as caught:
        with stop:
            assert not stop.is_set()
            send(number)
            assert stop.is_set() and stop.error().signal_number == number
            send(number)
            raise AssertionError("the second signal did not raise")
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.signal_number == number
    assert signal.getsignal(number) is before and not stop.is_set()


@BOTH
def test_first_signal_raises_inside_of_raising(number):
    stop = StopSignals(lambda: "nothing was kept")
    with stop:
        with pytest.raises(Interrupted, match="nothing was kept"):
            with stop.raising():
                send(number)
                raise AssertionError("the signal did not raise")
    with stop:
        with stop.raising():
            pass
        send(number)  # It is only noted again.
        assert stop.is_set()


def test_signal_that_came_before_raises_as_raising_is_entered():
    stop = StopSignals(lambda: "")
    with stop:
        send(signal.SIGTERM)
        with pytest.raises(Interrupted):
            with stop.raising():
                raise AssertionError("it was entered")


def test_other_threads_leave_the_handlers_alone():
    before, found = signal.getsignal(signal.SIGINT), []

    def run():
        with StopSignals(lambda: ""):
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [before]
