"""`progress_bar`: how many sentences are embedded, in a terminal, a notebook or a log file."""

import contextlib
import time

_SECONDS_OF_A_LINE = 5  # between two lines of progress where there is no terminal


@contextlib.contextmanager
def progress_bar(total, is_shown):
    """Shows progress on standard error.

    Args:
        total: int, the number of all sentences; or `None` where it is not known.
        is_shown: bool.

    Yields:
        A function to call with the number of sentences that were embedded since the last call.
    """
    if not is_shown:
        yield lambda count: None
        return
    import rich.console
    import rich.progress

    is_notebook = rich.console.Console().is_jupyter
    # Plain text in notebooks, too: it stays in a saved notebook, and needs no widgets.
    console = rich.console.Console(stderr=True, force_jupyter=False)
    # Not `is_terminal`: Jupyter sets FORCE_COLOR, for which rich takes any output for a terminal.
    if is_notebook or not console.file.isatty():
        lines = _ProgressLines(total, console)
        yield lines.advance
        if lines.shown != lines.count:
            lines.show()
        return
    columns = [
        rich.progress.TextColumn("{task.description}"),
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeElapsedColumn(),
        rich.progress.TimeRemainingColumn(),
    ]
    with rich.progress.Progress(*columns, console=console) as bar:
        task = bar.add_task("sentences", total=total)
        yield lambda count: bar.advance(task, count)


class _ProgressLines:
    """Progress as lines of text, for notebooks and log files: they stay where they are written.

    Args:
        total: int, the number of all sentences; or `None` where it is not known.
        console: a `rich.console.Console`.
    """

    def __init__(self, total, console):
        self.total = "" if total is None else f"/{total:,}"
        self.console = console
        self.count = 0
        self.shown = None  # the count of the last line
        self.start = self.last = time.monotonic()

    def advance(self, count):
        self.count += count
        if time.monotonic() - self.last >= _SECONDS_OF_A_LINE:
            self.show()

    def show(self):
        self.last, self.shown = time.monotonic(), self.count
        seconds = self.last - self.start
        line = f"sentences: {self.count:,}{self.total}, {seconds:,.0f} s"
        self.console.print(line, highlight=False, soft_wrap=True)
