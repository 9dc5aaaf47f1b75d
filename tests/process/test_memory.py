import ctypes
import platform
import subprocess
import sys

import pytest

from keras_elmo import keep_memory

# Frees and takes 64 MiB a hundred times, and prints how many pages it took from the system.
CHURN = """
import resource, sys, numpy as np
if sys.argv[1:]:
    from keras_elmo.process.memory import keep_memory
    assert keep_memory()
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(100):
        np.ones(2**24, np.float32)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc")
def test_memory_that_is_freed_is_taken_again():
    def faults(*arguments):
        command = [sys.executable, "-c", CHURN, *arguments]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    assert faults("keep") < faults() / 10


@pytest.mark.parametrize("error", [AttributeError, OSError])
def test_other_systems_go_on_without(monkeypatch, error):
    def refuse(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert keep_memory() is False
