"""Progress of reading text files, of embedding them and of measuring their perplexity."""

import contextlib
import datetime
import os
import sys
import time

import rich.console
import rich.progress

from keras_elmo.signals import check_signals

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


class CorpusProgress:
    """Shows how much of a corpus is embedded: a bar in a terminal, else a line now and then.

    Args:
        is_shown: bool.

    Attributes:
        last: the last `keras_elmo.corpora.run.Progress`, or `None` before the first.
    """

    def __init__(self, is_shown=True):
        self.is_shown, self.last = is_shown, None
        self._bar = self._task = None
        self._started = self._shown = 0.0

    def __enter__(self):
        if self.is_shown and sys.stderr.isatty():
            columns = [
                rich.progress.TextColumn("embedding"),
                rich.progress.BarColumn(),
                rich.progress.TextColumn("{task.description}"),
            ]
            console = rich.console.Console(stderr=True)
            self._bar = rich.progress.Progress(*columns, console=console, transient=True)
            self._bar.start()
        return self

    def __call__(self, progress):
        now = time.monotonic()
        if self.last is None:
            self._started = self._shown = now
        self.last = progress
        if not self.is_shown or self._bar is None and now < self._shown + _LINE_INTERVAL:
            return
        if self._bar is None:
            self._shown = now
            print(f"embedding: {self.describe(now)}", file=sys.stderr, flush=True)
        elif self._task is None:
            self._task = self._bar.add_task(self.describe(now), total=progress.total_rows)
        elif now >= self._shown + _COUNT_INTERVAL:
            self._shown = now
            self._bar.update(self._task, completed=progress.rows, description=self.describe(now))

    def describe(self, now):
        """The sentences, the speed, the time that is left and the shards, as a phrase."""
        done, seconds = self.last, now - self._started
        phrase = f"{done.rows:,}/{done.total_rows:,} sentences, "
        if done.new_rows and seconds > 0:
            left = seconds / done.new_rows * (done.total_rows - done.rows)
            left = datetime.timedelta(seconds=round(left))
            phrase += f"{done.new_tokens / seconds:,.0f} tokens/s, {left} left, "
        return phrase + f"{done.shards:,}/{done.total_shards:,} shards"

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.stop()


class PredictionCount:
    """The number of predictions so far, in one line of a terminal; elsewhere nothing.

    A call raises `Interrupted` after a signal.

    Args:
        is_shown: bool.
    """

    def __init__(self, is_shown=True):
        self.is_shown = is_shown and sys.stderr.isatty()
        self.count, self.shown = 0, 0.0

    def __enter__(self):
        return self

    def __call__(self, count):
        check_signals()
        self.count += count
        if self.is_shown and time.monotonic() > self.shown + _COUNT_INTERVAL:
            self.shown = time.monotonic()
            print(f"\r{self.count:,} predictions", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_):
        if self.shown:  # the line is cleared
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
