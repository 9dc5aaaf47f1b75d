import gzip
import os
import signal
import sys
import threading

import pytest
import tensorflow as tf

from keras_elmo.files.records import Records
from keras_elmo.process.signals import Interrupted, check_signals, noted_signal, noting_signals
from keras_elmo_cli.main import main

BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@BOTH
def test_the_first_signal_is_noted_and_interrupts_nothing(number):
    before = signal.getsignal(number)
    with noting_signals():
        assert noted_signal() is None
        check_signals("not raised")
        with noting_signals():  # nothing changes inside of another context
            signal.raise_signal(number)
            assert signal.getsignal(number) is before
        assert noted_signal() == number
        with pytest.raises(Interrupted, match="half is there") as caught:
            check_signals("half is there")
    assert isinstance(caught.value, KeyboardInterrupt) and caught.value.signal_number == number
    assert signal.getsignal(number) is before and noted_signal() is None
    check_signals()


def test_the_second_signal_has_the_handler_of_before():
    with pytest.raises(KeyboardInterrupt) as caught, noting_signals():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert type(caught.value) is KeyboardInterrupt


def test_a_signal_that_nothing_looked_for_is_not_lost():
    reached = []
    with pytest.raises(KeyboardInterrupt), noting_signals():
        signal.raise_signal(signal.SIGINT)
        reached.append("the end of the block")
    assert reached and noted_signal() is None


@pytest.mark.parametrize("is_ignored", [False, True])
def test_the_handler_of_a_program_stays(is_ignored):
    calls = []
    handler = signal.SIG_IGN if is_ignored else lambda number, _: calls.append(number)
    before = signal.signal(signal.SIGINT, handler)
    try:
        with noting_signals():
            signal.raise_signal(signal.SIGINT)
            assert len(calls) == (not is_ignored) and noted_signal() is None
    finally:
        signal.signal(signal.SIGINT, before)


@BOTH
def test_the_second_signal_ends_the_process_at_once(number):
    child = os.fork()
    if child == 0:
        try:
            with noting_signals(second_handler=signal.SIG_DFL):
                signal.raise_signal(number)
                signal.raise_signal(number)
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -number


def test_other_threads_leave_the_handlers_alone():
    before, found = signal.getsignal(signal.SIGINT), []

    def run():
        with noting_signals():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [before]


def test_no_handler_raises_inside_of_tensorflow(elmo, monkeypatch):
    """`tf.constant` is where a handler that raised made TensorFlow's C++ crash."""
    returned = []

    class Stand:
        """The module `tensorflow`, whose `constant` sends this process a signal."""

        def __getattr__(self, name):
            return getattr(tf, name)

        def constant(self, *args):
            if len(returned) == 2:  # in the second batch
                signal.raise_signal(signal.SIGTERM)
            result = tf.constant(*args)
            returned.append(len(args[0]))
            return result

    monkeypatch.setattr("keras_elmo.models.elmo.tf", Stand())
    with pytest.raises(Interrupted), noting_signals():
        elmo.embed(["a b c", "d e"] * 40, token_budget=20)
    assert len(returned) == 4  # words and lengths of two batches: the second one came to its end


@pytest.mark.parametrize(
    "number, source",
    [(signal.SIGINT, "standard input"), (signal.SIGTERM, "pipe"), (signal.SIGTERM, "no writer")],
)
def test_a_signal_while_nothing_comes(
    one_layer_folder, tmp_path, capsys, monkeypatch, number, source
):
    (tmp_path / "out").mkdir()
    os.mkfifo(tmp_path / "pipe")
    if source != "no writer":
        # Opened for reading, too, so that it does not wait for the command.
        writer = os.open(tmp_path / "pipe", os.O_RDWR)
        os.write(writer, b"the first line\nhalf of the sec")
    name = str(tmp_path / "pipe")
    if source == "standard input":
        monkeypatch.setattr(sys, "stdin", open(name))
        name = "-"
    timer = threading.Timer(1, os.kill, (os.getpid(), number))
    timer.start()
    output = str(tmp_path / "out" / "out.hdf5")
    status = main(["embed", name, "-o", output, "-m", str(one_layer_folder), "-q"])
    event = {2: "interrupted", 15: "terminated"}[number]
    assert capsys.readouterr().err == f"keras-elmo: {event}; nothing was written\n"
    assert status == 128 + number and os.listdir(tmp_path / "out") == []


def test_a_named_pipe_is_read(tmp_path):
    pipe, lines = tmp_path / "pipe.gz", [f"line {number} ." for number in range(50000)]
    os.mkfifo(pipe)
    content = gzip.compress("\n".join(lines).encode())
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert list(Records([str(pipe)])) == lines
    writer.join()
