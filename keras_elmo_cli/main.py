"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line."""

import argparse
import contextlib
import glob
import importlib
import importlib.metadata
import io
import os
import re
import signal
import sys
import traceback

from keras_elmo_cli.parsing import ExampleParser, Subcommand, add_commands, as_typed

# Each is a module of this package.
_COMMANDS = (
    "embed embed-corpus info export tflite vocabulary train evaluate convert classify tag probe "
    "similar plot projector"
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
    if not hasattr(options, "typed"):  # a command without its subcommand
        options.run(options)
    if hasattr(sys.stdout, "reconfigure"):  # not one of Python's own, as in tests
        sys.stdout.reconfigure(errors="replace")  # ? for a character that its encoding lacks
    try:
        _check_files(options)
        _run(options)
    except KeyboardInterrupt as error:
        number = getattr(error, "signal_number", signal.SIGINT)
        event = "terminated" if number == signal.SIGTERM else "interrupted"
        print(f"keras-elmo: {event}; {str(error) or 'nothing was written'}", file=sys.stderr)
        return 128 + number  # as a shell says it
    except BrokenPipeError:  # The reader has gone. What is still to be written goes nowhere.
        _discard_output()
        return _ERROR_STATUS
    except Exception as error:
        is_tensorflows = type(error).__module__.startswith("tensorflow.")
        if not isinstance(error, _USER_ERRORS) and not is_tensorflows:
            raise  # a fault of ours, with its traceback
        if _is_full_output(error):
            error.filename = "standard output"
            _discard_output()
        if os.environ.get(_DEBUG):
            traceback.print_exc()
        text = re.sub(r"^\[Errno \d+\] ", "", str(error))  # what Python puts before its own errors
        lines = filter(None, map(str.strip, text.splitlines()))
        message = as_typed(" ".join(lines) or type(error).__name__, options.typed)
        print(f"{options.prog}: error: {message}", file=sys.stderr)
        return _ERROR_STATUS
    return 0


def _check_files(options):
    """Raises Python's own error for a file to read that is missing, before TensorFlow's import."""
    for name in (*options.input_names, "model"):
        paths = getattr(options, name, None)
        for path in paths if isinstance(paths, list) else [paths]:
            if path in (None, "-") or glob.escape(path) != path:
                continue
            # A model may have a name or an address, too.
            if name != "model" or (path.endswith(".keras") and "://" not in path):
                os.stat(path)


def _run(options):
    from keras_elmo.process.memory import keep_memory
    from keras_elmo.process.signals import check_signals, noting_signals

    keep_memory()
    with noting_signals(second_handler=signal.SIG_DFL):
        options.run(options)
        if sys.stdout is not None:  # closed, as by `>&-`
            sys.stdout.flush()
        check_signals("all was done already")


def _is_full_output(error):
    """Whether standard output is full. The errors of all other files have their names."""
    if not isinstance(error, OSError) or error.filename is not None:
        return False
    from keras_elmo.files.atomic import has_no_room

    return has_no_room(error)


def _discard_output():
    """Standard output takes no more: Python would try once more at its exit, and complain."""
    with contextlib.suppress(io.UnsupportedOperation):  # one of Python's own, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _ShowVersion(argparse.Action):
    """Prints the version that is installed."""

    def __init__(self, option_strings, dest):
        super().__init__(option_strings, dest, nargs=0, help="show the version")

    def __call__(self, parser, *_):
        print(f"keras-elmo {importlib.metadata.version('keras-elmo')}")
        parser.exit()


def make_parser():
    """The parser of the whole command line."""
    parser = ExampleParser(
        prog="keras-elmo",
        description="ELMo: contextual word vectors from the original weights.",
        epilog=f"An error is one line, and exit status 2. With the environment variable {_DEBUG}=1 "
        "its traceback stands above the line.",
    )
    parser.set_defaults(input_names=())
    parser.add_argument("-V", "--version", action=_ShowVersion)
    subcommands = {}
    for name in _COMMANDS:
        module = importlib.import_module(f"keras_elmo_cli.{name.replace('-', '_')}")
        run = getattr(module, "run", None)  # `plot` and `probe` have subcommands of their own
        subcommands[name] = Subcommand(
            name, module.HELP, module.DESCRIPTION, module.EXAMPLES, module.add_arguments, run
        )
    parser.examples = [subcommands[name].examples[0] for name in ("embed", "export")]
    add_commands(parser, "COMMAND", subcommands.values())
    return parser
