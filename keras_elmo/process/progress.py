"""`ProgressDisplay`: how much of long work is done, in a terminal, a notebook or a log file."""

import datetime
import time

import rich.console
import rich.progress

LINE_INTERVAL = 10  # seconds between two lines where there is no terminal
BAR_INTERVAL = 0.1  # seconds between two updates of a bar: more often than this nobody sees


class ProgressDisplay:
    """Shows on standard error how much of long work is done, inside a `with` block.

    In a terminal it is a bar. In notebooks and files it is a line of text every ten seconds: lines
    stay in a saved notebook, and need no widgets. Both show the count, the speed and the time that
    is left. The speed counts from the first update, since the first batch is slow: TensorFlow
    traces its graphs then.

    Args:
        name: str, what is done, such as `"reading"`.
        total: int, or `None` if it is not known. It can be set as an attribute later.
        unit: str, what is counted. `"MB"`: bytes are counted, and shown as megabytes.
        rate_unit: str, what the speed counts; `None`: the same unit.
        is_shown: bool. `False`: nothing is shown.
        is_transient: bool. At its end the bar disappears, since the caller says then what was done.
        start: int, the count at which the work begins.
        line_every: int. A line after each so many counts, and not every ten seconds.

    Attributes:
        count: int, how much is done.
    """

    def __init__(
        self,
        name,
        total=None,
        unit="sentences",
        rate_unit=None,
        is_shown=True,
        is_transient=False,
        start=0,
        line_every=None,
    ):
        self.name, self.total, self.unit, self.count = name, total, unit, start
        self._rate_unit = rate_unit or unit
        self._is_transient, self._line_every = is_transient, line_every
        self._note, self._first_update = "", None
        # rich would show widgets in a notebook.
        self._console = rich.console.Console(stderr=True, force_jupyter=False, quiet=not is_shown)
        # Not `is_terminal`: Jupyter sets FORCE_COLOR, for which rich takes any output for a
        # terminal.
        stdout = rich.console.Console()
        self._is_bar = is_shown and not stdout.is_jupyter and self._console.file.isatty()
        self._bar = rich.progress.Progress(
            rich.progress.TextColumn("{task.description}", markup=False),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.fields[text]}", markup=False),
            console=self._console,
            disable=not self._is_bar,  # it counts all the same
            auto_refresh=False,  # a thread would do it
            speed_estimate_period=600,  # seconds: a step of a training may take long
            transient=is_transient,
            # What the caller prints meanwhile must not go to standard error from a pipe.
            redirect_stdout=stdout.file.isatty(),
            get_time=time.monotonic,
        )
        self._bar.add_task(name, total=total, completed=start, text="")
        self._bar.add_task("", total=None, visible=False)
        self._task, self._work = self._bar.tasks

    def __enter__(self):
        self._bar.start()
        self._show()
        return self

    def __exit__(self, error_type, *_):
        if error_type is None and not self._is_transient and self._shown_count != self.count:
            self._show()
        if self._is_bar:  # else some versions of rich would write an empty line
            self._bar.stop()

    def advance(self, count, work=None):
        """Adds to the count, and to the work, which is what the speed counts."""
        self.update(self.count + count, None if work is None else self._work.completed + work)

    def update(self, count, work=None, note=""):
        """Sets how much is done.

        Args:
            count: int.
            work: int, how much of the speed's unit is done; `None`: the count.
            note: str that is shown behind the rest.
        """
        now = time.monotonic()
        self._first_update = self._first_update or now
        self.count, self._note = count, note
        self._bar.update(self._task.id, completed=count, total=self.total)
        self._bar.update(self._work.id, completed=count if work is None else work)
        if self._line_every is not None and not self._is_bar:
            is_due = count % self._line_every == 0
        else:
            is_due = now >= self._shown_at + (BAR_INTERVAL if self._is_bar else LINE_INTERVAL)
        if is_due:
            self._show()

    def speed(self):
        """How fast the work was done since the first update, and how long the rest will take.

        Returns:
            `None` if nothing was done since then; else three numbers: the seconds since then, the
            work in a second, and the seconds that are left (`None` without a total).
        """
        if not self._work.speed:
            return None
        seconds = time.monotonic() - self._first_update
        return seconds, self._work.speed, self._task.time_remaining

    def print(self, line):
        """Shows a line of text, above the bar."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _show(self):
        self._shown_at, self._shown_count = time.monotonic(), self.count
        if self._is_bar:
            self._bar.update(self._task.id, text=self._description(), refresh=True)
        elif self._first_update is not None:
            self.print(f"{self.name}: {self._description()}")

    def _description(self):
        """The count, the speed and the time that is left, in a phrase."""
        total = "" if self.total is None else f"/{_amount(self.total, self.unit)}"
        parts = [f"{_amount(self.count, self.unit)}{total} {self.unit}"]
        if speed := self.speed():
            _, rate, left = speed
            parts.append(f"{_amount(rate, self._rate_unit)} {self._rate_unit}/s")
            if left:
                parts.append(f"{duration(left)} left")
        if self._task.finished:
            parts.append(f"in {duration(self._task.finished_time)}")
        return ", ".join([*parts, self._note] if self._note else parts)


def _amount(number, unit):
    if unit == "MB":
        return f"{number / 1e6:,.1f}"
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def duration(seconds):
    """Seconds for a reader: hours, minutes and seconds, and days before them."""
    return str(datetime.timedelta(seconds=round(seconds)))
