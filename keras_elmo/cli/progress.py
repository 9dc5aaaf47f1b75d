"""Progress of reading text files and of measuring their perplexity, on standard error."""

import contextlib
import os
import sys
import time

import rich.console
import rich.progress

_LINE_INTERVAL = 10  # seconds between two lines, where there is no terminal
_COUNT_INTERVAL = 0.5  # seconds after which a count in the terminal is shown anew


@contextlib.contextmanager
def reading_progress(files, is_shown=True):
    """Shows how much of some files is read: a bar in a terminal, else a line now and then.

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
        yield ReadingLines(total)


class ReadingLines:
    """The share of the bytes that is read, in a line every ten seconds.

    Args:
        total: int. All the bytes.
    """

    def __init__(self, total):
        self.total, self.read, self.shown = total, 0, time.monotonic()

    def __call__(self, count):
        self.read += count
        if time.monotonic() > self.shown + _LINE_INTERVAL:
            self.shown = time.monotonic()
            print(f"reading: {self.read / self.total:.0%}", file=sys.stderr, flush=True)


class PredictionCount:
    """The number of predictions so far, in one line of a terminal; elsewhere nothing."""

    def __init__(self):
        self.count, self.shown = 0, 0.0

    def __enter__(self):
        return self

    def __call__(self, count):
        self.count += count
        if sys.stderr.isatty() and time.monotonic() > self.shown + _COUNT_INTERVAL:
            self.shown = time.monotonic()
            print(f"\r{self.count:,} predictions", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_):
        if self.shown:  # the line is cleared
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
