"""What `keras-elmo train` says of its text and of each step, on standard error."""

import math
import sys
import time
import warnings

import rich.console
import rich.progress

from keras_elmo.cli.parsing import counted
from keras_elmo.cli.progress import reading_progress

_TRACING = "tracing the first step ..."
_LINE_INTERVAL = 100  # steps between two lines, where there is no terminal
_LOSS_DECAY = 0.98  # of the running mean: about the last fifty steps count


def say(line):
    """Writes a line to standard error."""
    print(line, file=sys.stderr, flush=True)


def describe_corpus(name, corpus, vocabulary, is_shown):
    """Reads a corpus, checks it, and says what is in it.

    Args:
        name: str, what the corpus is called.
        corpus: a `Corpus`.
        vocabulary: a `Vocabulary`.
        is_shown: bool. Whether anything is written.

    Returns:
        The share of its tokens that the vocabulary does not have, float.
    """
    if is_shown:
        say(f"reading the {name} text ...")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with reading_progress(corpus.files, is_shown) as progress:
            unknown = corpus.unknown_share(vocabulary, progress)
    if is_shown:
        for warning in caught:
            say(f"warning: {warning.message}")
        sentences, tokens = corpus.counts()
        say(
            f"{name} text: {counted(sentences, 'sentence')}, {counted(tokens, 'token')}, "
            f"{unknown:.1%} of them not among the {counted(len(vocabulary), 'word')} of the "
            "vocabulary"
        )
    return unknown


def step_report(trainer, is_shown):
    """A context manager that gives the function to call with the figures of each step.

    It shows a bar in a terminal, else lines.

    Args:
        trainer: a `Trainer`.
        is_shown: bool.
    """
    return (ReportBar if sys.stderr.isatty() else ReportLines)(trainer, is_shown)


class _Report:
    """Takes the figures of each step and shows them.

    Args:
        trainer: a `Trainer`.
        is_shown: bool.
    """

    def __init__(self, trainer, is_shown):
        self.trainer, self.is_shown = trainer, is_shown
        self.first_step, self.started = None, None
        self.mean_loss = None  # a running mean

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __call__(self, figures):
        if not self.is_shown:
            return
        if self.first_step is None:  # it is slow, as TensorFlow prepares what it traced
            self.first_step, self.started = figures["step"], time.perf_counter()
            self.mean_loss = figures["loss"]
        self.mean_loss = _LOSS_DECAY * self.mean_loss + (1 - _LOSS_DECAY) * figures["loss"]
        self.show(figures)

    def show(self, figures):
        """Shows the figures of a step."""
        raise NotImplementedError

    def line(self, figures):
        """The loss, the speed and the time that is left, in a line."""
        perplexity = math.exp(min(self.mean_loss, 700))  # of more, a float has no exponential
        line = f"loss {self.mean_loss:.3f}  training perplexity {perplexity:,.1f}"
        steps = figures["step"] - self.first_step
        if not steps:
            return line
        seconds = time.perf_counter() - self.started
        left = int(seconds / steps * (self.trainer.num_steps - figures["step"]))
        speed = steps * self.trainer.tokens_per_step / seconds
        left = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
        return f"{line}  {speed:,.0f} tokens/s  {left} left"

    @staticmethod
    def heldout_line(figures):
        """The result of an evaluation, in a line."""
        result = figures["evaluation"]
        return (
            f"step {figures['step']:,}: held-out perplexity {result['perplexity']:.2f} "
            f"(forward {result['forward']:.2f}, backward {result['backward']:.2f}), "
            f"{result['unknown']:.1%} of its words unknown"
        )


class ReportLines(_Report):
    """A line every hundred steps."""

    def __enter__(self):
        if self.is_shown and self.trainer.step < self.trainer.num_steps:
            say(_TRACING)
        return self

    def show(self, figures):
        step, steps = figures["step"], self.trainer.num_steps
        if step % _LINE_INTERVAL == 0 or step == steps:
            say(f"step {step:,}/{steps:,}  {self.line(figures)}")
        if "evaluation" in figures:
            say(self.heldout_line(figures))


class ReportBar(_Report):
    """A bar in the terminal."""

    def __enter__(self):
        self.bar = rich.progress.Progress(
            rich.progress.TextColumn("step"),
            rich.progress.MofNCompleteColumn(),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.description}"),
            console=rich.console.Console(stderr=True),
            disable=not self.is_shown,
        )
        is_done = self.trainer.step >= self.trainer.num_steps
        self.task = self.bar.add_task(
            "" if is_done else _TRACING, total=self.trainer.num_steps, completed=self.trainer.step
        )
        self.bar.start()
        return self

    def __exit__(self, *_):
        self.bar.stop()

    def show(self, figures):
        self.bar.update(self.task, completed=figures["step"], description=self.line(figures))
        if "evaluation" in figures:
            self.bar.console.print(self.heldout_line(figures), highlight=False)
