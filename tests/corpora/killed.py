"""Runs of `keras-elmo embed` in processes that are stopped on purpose."""

import contextlib
import glob
import os
import pathlib
import re
import subprocess
import sys
import time

from keras_elmo.corpora.manifest import MANIFEST

_SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a shell
sys.argv[0] = "keras-elmo"  # by which the package knows that it is the command line
from keras_elmo_cli.main import main
import tensorflow as tf  # after keras_elmo, which hides TensorFlow's log
tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # as in conftest.py
sys.exit(main(sys.argv[1:]))
"""
_LOG = re.compile(r"(?:[IWE]\d{4} |WARNING: All log messages before).*\n")


def start(arguments):
    """A process of `keras-elmo`."""
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", _SCRIPT, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def finish(process):
    """The exit status of a process, and what it wrote to standard error but TensorFlow's log."""
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
    return sorted(glob.glob("shard-*", root_dir=folder))


def parts_in(folder):
    """The names of the temporary files in a folder."""
    return sorted(glob.glob(".part.*", root_dir=folder))


def contents(folder):
    """The bytes of every file of a folder but the manifest, by name."""
    paths = [path for path in pathlib.Path(folder).iterdir() if path.name != MANIFEST]
    return {path.name: path.read_bytes() for path in paths}
