"""The process that runs cases: TensorFlow is imported once, and a crash ends only this process."""

import contextlib
import faulthandler
import importlib
import os
import pathlib
import resource
import signal
import traceback

from campaign.case import Finding

_MEMORY = 1.5e9  # bytes by which one case may raise the most memory that the process ever had
_DATA = 12 * 2**30  # bytes that a process may have at all, so that no case takes the machine's


def serve(connection, log):
    """Runs the cases that come through a connection, and sends back what they found.

    Args:
        connection: sends triples: the name of a module, a seed, the path of an empty folder. Gets
            `None` back, or what was found, a string.
        log: path of the file that takes what this process prints.
    """
    os.setsid()  # Ctrl-C is for the supervisor, which ends this group of processes
    signal.signal(signal.SIGINT, signal.default_int_handler)  # background shells ignore it
    with open(log, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    resource.setrlimit(resource.RLIMIT_DATA, (_DATA, resource.RLIM_INFINITY))
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            connection.send(_run(*connection.recv()))


def _run(module, seed, folder):
    try:
        run = importlib.import_module(module).run
        before = _most_memory()
        run(seed, pathlib.Path(folder))
    except Finding as finding:
        return str(finding)
    except Exception:
        return f"expected: no error but those that the case looks for\n{traceback.format_exc()}"
    grown = _most_memory() - before
    if grown > _MEMORY:
        return f"expected: less than {_MEMORY:.1e} bytes more\nreceived: {grown:.1e} bytes"
    return None


def _most_memory():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
