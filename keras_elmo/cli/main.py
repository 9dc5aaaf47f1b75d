"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line."""

import argparse
import os
import signal
import sys

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
from keras_elmo.signals import check_signals, noting_signals, stop_line

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


def main(arguments=None):
    """Runs the command line.

    Args:
        arguments: list of strings; `None`: those of the process.

    Returns:
        The exit status: 0; 2 after an error, with one line on standard error; 2 without a line if
        the reader of the output has gone; 130 after Ctrl-C, and 143 after SIGTERM, which take
        effect after the batch that is being computed. A second one ends the process at once.
    """
    options = make_parser().parse_args(arguments)
    try:
        with noting_signals(second_handler=signal.SIG_DFL):
            options.run(options)
            sys.stdout.flush()
            check_signals("all was done already")
    except KeyboardInterrupt as error:
        number = getattr(error, "signal_number", signal.SIGINT)
        print(stop_line(number, str(error) or "nothing was written"), file=sys.stderr)
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
