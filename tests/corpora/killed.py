"""Runs of `keras-elmo embed` in processes that are stopped on purpose."""

import contextlib
import hashlib
import os
import re
import subprocess
import sys
import time

from keras_elmo.corpora.manifest import MANIFEST

# The file that a process may write is limited by the environment variable LIMIT, in bytes.
_SCRIPT = """
import os, resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
sys.argv[0] = "keras-elmo"  # by which the package knows that it is the command line
from keras_elmo_cli.main import main
import tensorflow as tf  # after keras_elmo, which hides TensorFlow's log
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # as in conftest.py
if limit := os.environ.get("LIMIT"):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[1:]))
"""


_LOG = re.compile(r"(?:[IWE]\d{4} |WARNING: All log messages before).*\n")


def start(arguments, **environment):
    """A process of `keras-elmo`."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment}
    command = [sys.executable, "-c", _SCRIPT, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process):
    """Waits for a process: its exit status, and what it wrote to standard error.

    The log that TensorFlow writes while it is imported is left out.
    """
    err = process.communicate(timeout=600)[1]
    return process.returncode, _LOG.sub("", err)


def wait(process, seconds):
    """Waits some time, or until a process has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)


def wait_for(process, condition):
    """Waits until a condition holds, or the process has ended."""
    while not condition() and process.poll() is None:
        time.sleep(0.002)


def shards_in(folder):
    """The names of the shards that are in a folder."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(name for name in os.listdir(folder) if name.startswith("shard-"))
    return []


def parts_in(folder):
    """The names of the temporary files in a folder."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(name for name in os.listdir(folder) if name.endswith(".part"))
    return []


def contents(folder):
    """The bytes of every file of a folder but the manifest, by name."""
    names = [name for name in sorted(os.listdir(folder)) if name != MANIFEST]
    found = {}
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def hashes(folder):
    """The hash of every file of a folder but the manifest: what differs is shown in one line."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in contents(folder).items()}
