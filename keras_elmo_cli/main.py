"""`keras-elmo`: reads the arguments, runs a subcommand, turns errors into one line."""

import argparse
import errno
import importlib
import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import traceback

from keras_elmo_cli.inputs import check_files
from keras_elmo_cli.options import SWITCH, CommandParser, add_commands, as_typed

_COMMANDS = (  # modules of this package
    "embed embed-corpus info export tflite vocabulary train evaluate convert classify tag probe "
    "similar plot projector"
).split()
# Errors of the user's input, files, libraries, backend and memory, like TensorFlow's own. Others
# are faults of this program, and keep their traceback.
_USER_ERRORS = (FloatingPointError, ImportError, MemoryError, OSError, ValueError)
_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
_DEBUG = "KERAS_ELMO_DEBUG"  # where it is set, every error shows its traceback


def main(arguments=None):
    """Runs the command line, by default with the arguments of the process.

    Returns the exit status, as docs/reference/command-line.md says it. It is 2 without a line if
    the reader of the output has gone.
    """
    options = argparse.Namespace(parser=make_parser(), run=None)
    try:
        _, unknown = options.parser.parse_known_args(arguments, options)
        if unknown:
            options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
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
        # Standard output is full. The errors of all other files have their names.
        if getattr(error, "errno", None) in _FULL and error.filename is None:
            error.filename = "standard output"
            _discard_output()
        if os.environ.get(_DEBUG):
            traceback.print_exc()
        text = re.sub(r"^\[Errno \d+\] ", "", str(error))  # what Python puts before its own errors
        lines = filter(None, map(str.strip, text.splitlines()))
        message = " ".join(lines) or type(error).__name__
        message = as_typed(message, options.parser.option_names())
        print(f"{options.parser.prog}: error: {message}", file=sys.stderr)
        return 2
    return 0


def _run(options):
    if options.version:
        print(f"keras-elmo {importlib.metadata.version('keras-elmo')}", flush=True)
        return
    if options.run is None:  # a command without its subcommand
        options.parser.exit(2, options.parser.format_help())
    if hasattr(sys.stdout, "reconfigure"):  # not one of Python's own, as in tests
        # Files and pipes are UTF-8, as what is read; a terminal shows ? for what it cannot show.
        is_chosen = sys.stdout.isatty() or "PYTHONIOENCODING" in os.environ
        sys.stdout.reconfigure(encoding=None if is_chosen else "utf-8", errors="replace")
    check_files(options)
    import_library()
    from keras_elmo.process.memory import keep_memory
    from keras_elmo.process.signals import check_signals, noting_signals

    keep_memory()
    with noting_signals(second_handler=signal.SIG_DFL):
        options.run(options)
        if sys.stdout is not None:  # closed, as by `>&-`
            sys.stdout.flush()
        check_signals("all was done already")


# Another process, which shows what it has read, unless it ends with a zero byte.
_HOLDER = """
import sys
held = sys.stdin.buffer.read()
if not held.endswith(b"\\0"):
    sys.stderr.buffer.write(held)
"""


def import_library():
    """Imports the library without the lines that TensorFlow's C++ writes while it starts.

    No log level hides them all. They are held back, and shown if the import fails, or crashes.
    """
    if "tensorflow" in sys.modules or sys.stderr is None or os.environ.get(_DEBUG):
        return
    command = [sys.executable, "-ISc", _HOLDER]
    try:  # in a session that Ctrl-C does not reach
        holder = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    except OSError:  # There may be no other process.
        return
    own = os.dup(2)
    with holder:
        os.dup2(holder.stdin.fileno(), 2)
        try:
            import keras_elmo  # noqa: F401 (first: it sets the log level)

            # isort: split
            import tensorflow as tf

            tf.config.list_physical_devices()  # It looks for GPUs, and may find none.
            sys.stderr.flush()
            holder.stdin.write(b"\0")
        finally:
            os.dup2(own, 2)
            os.close(own)


def _discard_output():
    """Standard output takes no more: Python would try once more at its exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def make_parser():
    """The parser of the whole command line."""
    parser = CommandParser(
        prog="keras-elmo",
        description="ELMo: contextual word vectors from the original weights.",
        epilog=f"An error is one line, and exit status 2. With the environment variable {_DEBUG}=1 "
        "its traceback stands above the line, and TensorFlow's first log lines are shown.",
    )
    parser.add_argument("-V", "--version", **SWITCH, help="show the version")
    subcommands = {}
    for name in _COMMANDS:
        module = importlib.import_module(f"keras_elmo_cli.{name.replace('-', '_')}")
        subcommands[name] = module.__doc__, module.add_arguments, getattr(module, "run", None)
    add_commands(parser, subcommands)
    parser.examples = (*parser.examples[:1], "keras-elmo tag label sentences.txt -m pos")
    return parser
