"""`ProgressBar`: how much of long work is done, on standard error."""

import sys

import tqdm

DELAY = 1  # seconds: shorter work shows nothing


class ProgressBar(tqdm.tqdm):
    """A bar of tqdm in a `with` block, for more than a second; in files, every ten seconds.

    Args:
        name: str, what is done, such as `"reading"`.
        total: int, or `None` if it is not known. It can be set as an attribute later.
        unit: str, what is counted. `"B"`: bytes, which are shown as megabytes.
        is_shown: bool. `False`: nothing is shown.
        **kwargs: see tqdm; `leave=False` removes the bar at its end, `initial` is the first count.
    """

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
        """Shows a line of text, above the bar."""
        if not self.disable:
            show_line(line)


def show_line(line):
    """Shows a line of text on standard error, above a bar that is there."""
    tqdm.tqdm.write(line, file=sys.stderr)
