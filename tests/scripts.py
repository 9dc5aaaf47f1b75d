"""Python files of the repository that are not in the package, and programs in a new process."""

import importlib.util
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def load_script(path):
    """The module of a Python file, given by its path from the repository's root."""
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_python(*arguments, env=None, **kwargs):
    """Runs Python in a new process, which finds the same modules. `env` are more variables."""
    paths = os.pathsep.join([str(ROOT), *sys.path])
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": paths, **(env or {})}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=env, **kwargs)
