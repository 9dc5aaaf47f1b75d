"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line."""

import contextlib
import importlib
import io
import os
import signal
import sys
import traceback

import keras_elmo
from keras_elmo.cli.parsing import ExampleParser, Subcommand, add_commands, as_typed
from keras_elmo.files.atomic import has_no_room
from keras_elmo.process.signals import check_signals, noting_signals, stop_line

# Each is a module of this package.
_COMMANDS = (
    "embed embed-corpus token-embeddings info export tflite vocabulary train evaluate convert "
    "classify tag probe similar plot projector"
).split()
# Errors caused by the user's input: files and arguments, a missing library, another backend, too
# little memory. TensorFlow's own errors count too: they tell of a full disk, of memory, of damaged
# files. Other errors are faults of this program, and keep their traceback.
_USER_ERRORS = (FloatingPointError, ImportError, MemoryError, OSError, ValueError)
_ERROR_STATUS = 2
# Where this environment variable is set, every error shows its traceback.
_DEBUG = "KERAS_ELMO_DEBUG"


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
    if hasattr(sys.stdout, "reconfigure"):  # not one of Python's own, as in tests
        sys.stdout.reconfigure(errors="replace")  # ? for a character that its encoding lacks
    try:
        with noting_signals(second_handler=signal.SIG_DFL):
            options.run(options)
            if sys.stdout is not None:  # closed, as by `>&-`
                sys.stdout.flush()
            check_signals("all was done already")
    except KeyboardInterrupt as error:
        number = getattr(error, "signal_number", signal.SIGINT)
        print(stop_line(number, str(error) or "nothing was written"), file=sys.stderr)
        return 128 + number  # as a shell says it
    except BrokenPipeError:  # The reader has gone. What is still to be written goes nowhere.
        _discard_output()
        return _ERROR_STATUS
    except Exception as error:
        is_tensorflows = type(error).__module__.startswith("tensorflow.")
        if not isinstance(error, _USER_ERRORS) and not is_tensorflows:
            raise  # a fault of ours, with its traceback
        if has_no_room(error) and error.filename is None:  # all other files have their names
            error.filename = "standard output"
            _discard_output()
        if os.environ.get(_DEBUG):
            traceback.print_exc()
        lines = filter(None, map(str.strip, str(error).splitlines()))
        message = as_typed(" ".join(lines) or type(error).__name__, options.typed)
        print(f"{options.prog}: error: {message}", file=sys.stderr)
        return _ERROR_STATUS
    return 0


def _discard_output():
    """Standard output takes no more: Python would try once more at its exit, and complain."""
    with contextlib.suppress(io.UnsupportedOperation):  # one of Python's own, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_parser():
    """The parser of the whole command line."""
    parser = ExampleParser(
        prog="keras-elmo",
        description="ELMo: contextual word vectors from the original weights.",
        epilog=f"An error is one line, and exit status 2. With the environment variable {_DEBUG}=1 "
        "its traceback stands above the line.",
    )
    version = f"%(prog)s {keras_elmo.__version__}"
    parser.add_argument("-V", "--version", action="version", version=version)
    subcommands = {}
    for name in _COMMANDS:
        module = importlib.import_module(f"keras_elmo.cli.{name.replace('-', '_')}")
        run = getattr(module, "run", None)  # `plot` and `probe` have subcommands of their own
        subcommands[name] = Subcommand(
            name, module.HELP, module.DESCRIPTION, module.EXAMPLES, module.add_arguments, run
        )
    parser.examples = [subcommands[name].examples[0] for name in ("embed", "export")]
    add_commands(parser, "COMMAND", subcommands.values())
    return parser
