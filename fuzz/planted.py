"""Cases for `tests/test_fuzz.py`: well, a finding, an error, a crash, a hang."""

import os
import signal
import time

from fuzz.case import expect


def run(seed, folder):
    (folder / "file").write_text("of the case")
    expect(seed != 1, "no planted finding", "one")
    if seed == 2 or seed >= 10:
        raise KeyError("planted")
    if seed == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 4:
        time.sleep(600)
