"""`keras-elmo train`: text files to a biLM."""

import argparse
import dataclasses
import os
import sys
import time
import warnings

from keras_elmo.checks import shown
from keras_elmo.cli import model
from keras_elmo.cli.progress import reading
from keras_elmo.cli.wording import counted
from keras_elmo.files import making_folder
from keras_elmo.quiet import find_devices, hide_tensorflow_log

HELP = "train a biLM on text files"
DESCRIPTION = (
    "Trains a biLM on text files (a sentence a line, tokens separated by spaces; *.gz too). DIR "
    "gets the model (options.json, weights.hdf5, vocab.txt, softmax.hdf5), checkpoints, and logs "
    "for TensorBoard. Ctrl-C writes a checkpoint; --resume goes on from the last. On several GPUs "
    "it trains on all of them, and on several machines where TF_CONFIG says so; DIR is shared then."
)
_TRACING = "tracing the first step ..."
_LOG_EVERY = 100  # steps, where there is no terminal


def add_arguments(parser):
    files = {"nargs": "+", "metavar": "FILES", "help": "text files, or patterns in quotes"}
    parser.add_argument("--train", required=True, **files)
    parser.add_argument("--heldout", **{**files, "help": "text to measure the perplexity of"})
    parser.add_argument(
        "--vocab",
        dest="vocabulary",
        required=True,
        metavar="FILE",
        help="from `keras-elmo vocabulary`",
    )
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder to write")
    parser.add_argument(
        "--options",
        metavar="FILE",
        help="an options.json: the model's shape, and options of the training, which those below "
        "replace (default: the shape of --init, else of the published `small`)",
    )
    parser.add_argument("--init", metavar="MODEL", help=f"go on from the weights of {model.MODEL}")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    training = parser.add_argument_group("training")
    training.add_argument("--epochs", type=float, metavar="N", help="times to read the corpus (10)")
    training.add_argument("--steps", type=int, metavar="N", help="batches, in the place of epochs")
    training.add_argument("--batch-size", type=int, metavar="N", help="lanes, of each GPU (32)")
    training.add_argument("--unroll-steps", type=int, metavar="N", help="tokens of a window (20)")
    training.add_argument("--dropout", type=float, metavar="P", help="(0.1)")
    training.add_argument(
        "--optimizer", choices=["adagrad", "adam"], help="adagrad is the original's (adagrad)"
    )
    training.add_argument(
        "--learning-rate", type=float, metavar="R", help="(adagrad: 0.2, adam: 0.001)"
    )
    training.add_argument(
        "--schedule", choices=["constant", "linear", "cosine"], help="how it falls (constant)"
    )
    training.add_argument("--warmup-steps", type=int, metavar="N", help="steps it rises over (0)")
    training.add_argument(
        "--shuffle",
        action=argparse.BooleanOptionalAction,
        help="read the sentences in another order in each epoch (yes)",
    )
    training.add_argument(
        "--zero-starts",
        action=argparse.BooleanOptionalAction,
        help="begin sentences that begin a window from a zero state, as embedding does (yes)",
    )
    training.add_argument("--clip-norm", type=float, metavar="X", help="of all gradients (10)")
    training.add_argument(
        "--num-negatives",
        type=int,
        metavar="N",
        help="samples, at most half of the vocabulary's words; 0: the full softmax (1024, or as "
        "many as there may be)",
    )
    training.add_argument(
        "--dtype", choices=["float32", "mixed_bfloat16"], help="of the arithmetic (float32)"
    )
    training.add_argument("--seed", type=int, metavar="N", help="(0)")
    parser.add_argument("--checkpoint-every", type=int, default=500, metavar="STEPS", help="(500)")
    parser.add_argument("--evaluate-every", type=int, default=2000, metavar="STEPS", help="(2000)")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    corpus, heldout = _check(options)
    with making_folder(options.output):
        _run(options, corpus, heldout)


def _check(options):
    """The corpora; what can be wrong is found before TensorFlow is loaded."""
    from keras_elmo.training.corpus import Corpus

    for name in ("steps", "checkpoint_every", "evaluate_every"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            raise ValueError(f"--{name.replace('_', '-')} must be at least 1")
    corpus = Corpus(options.train)
    heldout = Corpus(options.heldout) if options.heldout else None
    for path in (options.vocabulary, options.options):
        if path is not None:
            open(path, "rb").close()  # where it may not be read, Python says so best
    is_begun = os.path.exists(os.path.join(options.output, "checkpoints", "checkpoint"))
    if is_begun and not options.resume:
        raise FileExistsError(
            f"{options.output} holds a run already; go on with --resume, or give another folder"
        )
    if not is_begun and os.path.exists(os.path.join(options.output, "options.json")):
        raise FileExistsError(
            f"{options.output} holds a model, but no checkpoint; give another folder, and the "
            "model with --init to go on from its weights"
        )
    if options.init:
        with model.opened(options.init):
            pass
    return corpus, heldout


def _run(options, corpus, heldout):
    with hide_tensorflow_log():
        import tensorflow as tf

        from keras_elmo import ElmoConfig, training
        from keras_elmo.text.vocabulary import Vocabulary
    find_devices()
    config, known, num_words = ElmoConfig(units=1024, projection_dim=128, num_highway=1), {}, None
    if options.options:
        config, known, num_words = training.read_options(options.options)
    for field in dataclasses.fields(training.TrainingOptions):
        value = getattr(options, field.name)
        if value is not None:
            known[field.name] = value
    arguments = training.TrainingOptions(**known)
    vocabulary = Vocabulary(options.vocabulary)
    if num_words not in (None, len(vocabulary)):
        raise ValueError(
            f"{options.options} says n_tokens_vocab={shown(num_words)}, but {options.vocabulary} "
            f"has {counted(len(vocabulary), 'word')}"
        )
    arguments.for_vocabulary(len(vocabulary))  # raises where there are too many samples
    say = _quiet if options.quiet else _say
    _count("training", corpus, vocabulary, say, options.quiet)
    if heldout:
        unknown = _count("held-out", heldout, vocabulary, say, options.quiet)
    with _strategy(tf).scope():
        bilm = _model(options, config, vocabulary, arguments)
        trainer = training.Trainer(
            bilm,
            corpus,
            arguments,
            options.output,
            heldout,
            options.steps,
            options.checkpoint_every,
            options.evaluate_every,
        )
    if options.resume:
        is_there = trainer.restore()
        say(
            f"going on from step {trainer.step:,}" if is_there else "no checkpoint yet: from step 0"
        )
    is_shown = not options.quiet and trainer.is_chief()
    with (_Bar if sys.stderr.isatty() else _Lines)(trainer, is_shown) as report:
        trainer.run(report)
    if trainer.is_chief():
        best = ""
        if heldout:
            best = f", held-out perplexity {trainer.best:.2f}, {unknown:.1%} of its words unknown"
        say(f"{options.output}: {counted(trainer.step, 'step')}{best}")


def _count(name, corpus, vocabulary, say, is_quiet):
    """Reads and checks a corpus, and tells what is in it; the share of its unknown words."""
    say(f"reading the {name} text ...")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with reading(corpus.files, not is_quiet) as progress:
            unknown = corpus.unknown_share(vocabulary, progress)
    for warning in caught:
        say(f"warning: {warning.message}")
    sentences, tokens = corpus.counts()
    say(
        f"{name} text: {counted(sentences, 'sentence')}, {counted(tokens, 'token')}, "
        f"{unknown:.1%} of them not among the {counted(len(vocabulary), 'word')} of the vocabulary"
    )
    return unknown


def _model(options, config, vocabulary, arguments):
    from keras_elmo.models import BiLanguageModel

    if not options.init:
        bilm = BiLanguageModel(config, vocabulary, dtype=arguments.dtype)
        bilm.initialize(arguments.seed)
        return bilm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a new softmax is trained here
        source = model.source_of(options.init)
        bilm = BiLanguageModel.from_pretrained(source, vocabulary, dtype=arguments.dtype)
    if not bilm.has_softmax:
        bilm.initialize_softmax(arguments.seed)
    if options.options and bilm.config != config:
        raise ValueError(f"{options.options} is of another shape than {options.init}")
    return bilm


def _strategy(tf):
    if os.environ.get("TF_CONFIG"):
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(tf.config.list_logical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def _say(line):
    print(line, file=sys.stderr, flush=True)


def _quiet(_):
    pass


class _Report:
    """Figures of each step, as they come."""

    def __init__(self, trainer, is_shown):
        self.trainer, self.is_shown = trainer, is_shown
        self.first, self.started = None, None
        self.loss = None  # a running mean

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def __call__(self, figures):
        if not self.is_shown:
            return
        if self.first is None:  # it is slow, as TensorFlow prepares what it traced
            self.first, self.started = figures["step"], time.perf_counter()
        loss = figures["loss"]
        self.loss = loss if self.loss is None else 0.98 * self.loss + 0.02 * loss
        self.show(figures)

    def line(self, figures):
        import math

        steps, seconds = figures["step"] - self.first, time.perf_counter() - self.started
        line = f"loss {self.loss:.3f}  perplexity {math.exp(min(self.loss, 700)):,.1f}"
        if not steps:
            return line
        left = int(seconds / steps * (self.trainer.steps - figures["step"]))
        speed = steps * self.trainer.tokens_per_step / seconds
        left = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
        return f"{line}  {speed:,.0f} tokens/s  {left} left"

    @staticmethod
    def heldout(figures):
        result = figures["heldout"]
        return (
            f"step {figures['step']:,}: held-out perplexity {result['perplexity']:.2f} "
            f"(forward {result['forward']:.2f}, backward {result['backward']:.2f}), "
            f"{result['unknown']:.1%} of its words unknown"
        )


class _Lines(_Report):
    """A line every hundred steps."""

    def __enter__(self):
        if self.is_shown and self.trainer.step < self.trainer.steps:
            _say(_TRACING)
        return self

    def show(self, figures):
        step, steps = figures["step"], self.trainer.steps
        if step % _LOG_EVERY == 0 or step == steps:
            _say(f"step {step:,}/{steps:,}  {self.line(figures)}")
        if "heldout" in figures:
            _say(self.heldout(figures))


class _Bar(_Report):
    """A bar in the terminal."""

    def __enter__(self):
        import rich.console
        import rich.progress

        self.bar = rich.progress.Progress(
            rich.progress.TextColumn("step"),
            rich.progress.MofNCompleteColumn(),
            rich.progress.BarColumn(),
            rich.progress.TextColumn("{task.description}"),
            console=rich.console.Console(stderr=True),
            disable=not self.is_shown,
        )
        is_done = self.trainer.step >= self.trainer.steps
        self.task = self.bar.add_task(
            "" if is_done else _TRACING, total=self.trainer.steps, completed=self.trainer.step
        )
        self.bar.start()
        return self

    def __exit__(self, *_):
        self.bar.stop()

    def show(self, figures):
        self.bar.update(self.task, completed=figures["step"], description=self.line(figures))
        if "heldout" in figures:
            self.bar.console.print(self.heldout(figures), highlight=False)
