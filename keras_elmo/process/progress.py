"""`ProgressBar`: how much of long work is done, on standard error."""

import sys

import tqdm

DELAY = 1  # seconds: shorter work shows nothing


class ProgressBar(tqdm.tqdm):
    """A bar of tqdm, for work of more than a second; outside of terminals every ten seconds."""

    monitor_interval = 0  # no thread

    def __init__(self, name, total=None, unit="sentences", is_shown=True, **kwargs):
        super().__init__(
            desc=name,
            total=total,
            unit=unit,
            unit_scale=unit == "B",
            disable=not is_shown or sys.stderr is None,
            file=sys.stderr,
            mininterval=0.1 if getattr(sys.stderr, "isatty", bool)() else 10,
            miniters=1,
            delay=DELAY,
            dynamic_ncols=True,
            **kwargs,
        )

    def print(self, line):
        """Shows a line above the bar."""
        if not self.disable:
            self.write(line, file=sys.stderr)
