"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line."""

import argparse
import contextlib
import os
import signal
import sys
import threading

import keras_elmo
from keras_elmo.cli import (
    convert,
    embed,
    evaluate,
    export,
    info,
    plot,
    probe,
    projector,
    similar,
    tflite,
    token_embeddings,
    train,
    vocabulary,
)
from keras_elmo.cli.subcommand import add_subcommand
from keras_elmo.cli.wording import as_typed

# What a user can mend: files and arguments, a missing library, another backend, too little memory.
_USER_ERRORS = (
    FloatingPointError,
    ImportError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_ERROR_STATUS = 2


class _Terminated(KeyboardInterrupt):
    """SIGTERM came."""

    signal_number = signal.SIGTERM


def main(arguments=None):
    """Runs the command line.

    Args:
        arguments: list of strings; `None`: those of the process.

    Returns:
        The exit status: 0; 2 after an error, with one line on standard error; 2 without a line if
        the reader of the output has gone; 130 after Ctrl-C, and 143 after SIGTERM.
    """
    options = make_parser().parse_args(arguments)
    try:
        with _raising_on_sigterm():
            options.run(options)
            sys.stdout.flush()
    except KeyboardInterrupt as error:
        number = getattr(error, "signal_number", signal.SIGINT)
        event = "terminated" if number == signal.SIGTERM else "interrupted"
        outcome = str(error) or "nothing was written"
        print(f"keras-elmo: {event}; {outcome}", file=sys.stderr)
        return 128 + number  # as a shell says it
    except BrokenPipeError:  # The reader has gone. What is still to be written goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _ERROR_STATUS
    except Exception as error:
        is_tensorflows = type(error).__module__.startswith("tensorflow.")
        if not isinstance(error, _USER_ERRORS) and not is_tensorflows:
            raise  # a fault of ours, with its traceback
        message = " ".join(str(error).split()) or type(error).__name__
        message = as_typed(message, options.typed)
        print(f"{options.prog}: error: {message}", file=sys.stderr)
        return _ERROR_STATUS
    return 0


def make_parser():
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="keras-elmo", description="ELMo: contextual word vectors from the original weights."
    )
    version = f"%(prog)s {keras_elmo.__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = (
        embed,
        token_embeddings,
        info,
        export,
        tflite,
        vocabulary,
        train,
        evaluate,
        convert,
        probe,
        similar,
        plot,
        projector,
    )
    for module in modules:
        add_subcommand(commands, module)
    return parser


@contextlib.contextmanager
def _raising_on_sigterm():
    """SIGTERM raises an exception, as Ctrl-C does, so that what was begun is cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python takes handlers in the main thread alone
        return

    def stop(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one would interrupt the cleanup
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
