"""How much of the text files is read: a bar in a terminal, else a line now and then."""

import contextlib
import os
import sys
import time

_SECONDS = 10  # between two lines, where there is no terminal


@contextlib.contextmanager
def reading(files, is_shown=True):
    """Shows how much of some files is read.

    Args:
        files: list of paths.
        is_shown: bool.

    Yields:
        A function to call with the number of bytes that were read since the last call; or `None`.
    """
    total = sum(map(os.path.getsize, files))
    if not is_shown or not total:
        yield None
    elif sys.stderr.isatty():
        import rich.console
        import rich.progress

        columns = [
            rich.progress.TextColumn("reading"),
            rich.progress.BarColumn(),
            rich.progress.DownloadColumn(),
            rich.progress.TimeRemainingColumn(),
        ]
        console = rich.console.Console(stderr=True)
        with rich.progress.Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=total)
            yield lambda count: bar.advance(task, count)
    else:
        yield _Lines(total)


class _Lines:
    def __init__(self, total):
        self.total, self.read, self.shown = total, 0, time.monotonic()

    def __call__(self, count):
        self.read += count
        if time.monotonic() > self.shown + _SECONDS:
            self.shown = time.monotonic()
            print(f"reading: {self.read / self.total:.0%}", file=sys.stderr, flush=True)
