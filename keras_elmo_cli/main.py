"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line."""

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

from keras_elmo_cli.options import SWITCH, CommandParser, Subcommand, add_commands, as_typed

_COMMANDS = (  # modules of this package
    "embed embed-corpus info export tflite vocabulary train evaluate convert classify tag probe "
    "similar plot projector"
).split()
# Errors of the user's input, files, libraries, backend and memory, like TensorFlow's own. Others
# are faults of this program, and keep their traceback.
_USER_ERRORS = (FloatingPointError, ImportError, MemoryError, OSError, ValueError)
_DEBUG = "KERAS_ELMO_DEBUG"  # where it is set, every error shows its traceback


def main(arguments=None):
    """Runs the command line, by default with the arguments of the process.

    Returns the exit status, as docs/reference/command-line.md says it. It is 2 without a line if
    the reader of the output has gone.
    """
    options = make_parser().parse_args(arguments)
    if options.version:
        print(f"keras-elmo {importlib.metadata.version('keras-elmo')}")
        return 0
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
        return 2
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
        return 2
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


def make_parser():
    """The parser of the whole command line."""
    parser = CommandParser(
        prog="keras-elmo",
        description="ELMo: contextual word vectors from the original weights.",
        epilog=f"An error is one line, and exit status 2. With the environment variable {_DEBUG}=1 "
        "its traceback stands above the line.",
    )
    parser.add_argument("-V", "--version", **SWITCH, help="show the version")
    subcommands = {}
    for name in _COMMANDS:
        module = importlib.import_module(f"keras_elmo_cli.{name.replace('-', '_')}")
        run = getattr(module, "run", None)  # `plot` and others have subcommands of their own
        subcommands[name] = Subcommand(module.__doc__, module.add_arguments, run)
    add_commands(parser, "COMMAND", subcommands)
    parser.examples = (*parser.examples[:1], "keras-elmo tag label sentences.txt -m pos")
    return parser
