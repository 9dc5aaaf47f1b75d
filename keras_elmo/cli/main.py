"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line.

Subcommands import TensorFlow when they run, so that `--help` answers at once.
"""

import argparse
import os
import sys

import keras_elmo
from keras_elmo.cli import (
    convert,
    embed,
    evaluate,
    export,
    info,
    tflite,
    train,
    vocabulary,
)

# What a user can mend: files and arguments, a missing library, another backend, too little memory.
_ERRORS = (
    FloatingPointError,
    ImportError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_ERROR = 2
_INTERRUPTED = 130


def main(arguments=None):
    """Runs the command line.

    Args:
        arguments: list of strings; `None`: those of the process.

    Returns:
        The exit status: 0, 2 after an error (one line on standard error), 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        prog="keras-elmo", description="ELMo: contextual word vectors from the original weights."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {keras_elmo.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in (embed, info, export, tflite, vocabulary, train, evaluate, convert):
        name = module.__name__.rpartition(".")[2]
        command = commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    options = parser.parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt as error:
        outcome = str(error) or "nothing was written"
        print(f"keras-elmo: interrupted; {outcome}", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # nobody reads on; what is still to be written goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _ERROR
    except Exception as error:
        if not (isinstance(error, _ERRORS) or type(error).__module__.startswith("tensorflow.")):
            raise  # a fault of ours, with its traceback
        message = " ".join(str(error).split()) or type(error).__name__
        print(f"keras-elmo {options.command}: error: {message}", file=sys.stderr)
        return _ERROR
    return 0
