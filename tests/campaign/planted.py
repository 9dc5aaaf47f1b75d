"""Cases for the test of the campaign itself: well, a finding, an error, a crash, a hang."""

import os
import signal
import time

from campaign.case import expect


def run(seed, folder):
    (folder / "file").write_text("of the case")
    expect(seed != 1, "no planted finding", "one")
    if seed == 2:
        raise KeyError("planted")
    if seed == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 4:
        time.sleep(600)
