"""`keras-elmo train`: text files to a biLM."""

import argparse
import contextlib
import math
import os
import sys
import warnings

from keras_elmo import training
from keras_elmo.checks import short_repr
from keras_elmo.cli.arguments import (
    MODEL_HELP,
    add_matmul_dtype_argument,
    model_source,
    open_model_argument,
    reading_display,
)
from keras_elmo.cli.lines import add_encoding_arguments
from keras_elmo.cli.parsing import defaults_of, pluralize
from keras_elmo.config import OPTIONS_FILE, ElmoConfig
from keras_elmo.files.atomic import locked_folder, making_folder
from keras_elmo.process.progress import ProgressDisplay, duration
from keras_elmo.training import BiLanguageModel
from keras_elmo.training.checkpoints import checkpoint_names
from keras_elmo.training.optimizer import OPTIMIZERS
from keras_elmo.training.options import DTYPES, LEARNING_RATES, NUM_NEGATIVES, SCHEDULES
from keras_elmo.training.trainer import CHECKPOINTS
from keras_elmo.training.vocabulary import Vocabulary

HELP = "train a biLM on text files"
DESCRIPTION = (
    "Trains a biLM on text files (a sentence a line, tokens separated by spaces; *.gz too). DIR "
    "gets the model (options.json, weights.hdf5, vocab.txt, softmax.hdf5), checkpoints, and logs "
    "for TensorBoard. Ctrl-C writes a checkpoint; --resume continues from the last checkpoint. It "
    "trains on one device."
)
EXAMPLES = (
    "keras-elmo train --train 'texts/*' --vocab vocab.txt -o my-elmo --epochs 3",
    "keras-elmo train --train mine.txt --vocab vocab.txt -o my-elmo --init tiny",
)
# The shape of the published model `small`.
SMALL = ElmoConfig(units=1024, projection_dim=128, num_highway=1)
_LINE_INTERVAL = 100  # steps between two lines, where there is no terminal
_ESTIMATE_AFTER = 10  # seconds of steps: enough for a first speed, and soon enough to stop a run
_LOSS_DECAY = 0.98  # of the running mean: about the last fifty steps count
_DEFAULTS = defaults_of(training.TrainingOptions) | defaults_of(training.Trainer)
_INTEGER, _NUMBER = {"type": int, "metavar": "N"}, {"type": float, "metavar": "X"}
_SWITCH = {"action": argparse.BooleanOptionalAction}
_RATES = ", ".join(f"{name}: {rate:g}" for name, rate in LEARNING_RATES.items())
# The fields of `TrainingOptions` (without `matmul_dtype`, an option of other subcommands, too): how
# they are read, and their help. If the default of a field is `None`, the help says what that means.
_TRAINING_OPTIONS = {
    "epochs": (_NUMBER, "times to read the corpus"),
    "batch_size": (_INTEGER, "lanes"),
    "unroll_steps": (_INTEGER, "tokens of a window"),
    "dropout": (_NUMBER, ""),
    "optimizer": ({"choices": list(OPTIMIZERS)}, "adagrad is the original's"),
    "learning_rate": (_NUMBER, f"({_RATES})"),
    "schedule": ({"choices": SCHEDULES}, "how it falls"),
    "warmup_steps": (_INTEGER, "steps it rises over"),
    "shuffle": (_SWITCH, "read the sentences in another order in each epoch"),
    "zero_starts": (
        _SWITCH,
        "begin sentences that begin a window from a zero state, as embedding does",
    ),
    "clip_norm": (_NUMBER, "of all gradients"),
    "num_negatives": (
        _INTEGER,
        "samples, at most half of the vocabulary's words; 0: the full softmax "
        f"({NUM_NEGATIVES}, or as many as there may be)",
    ),
    "dtype": ({"choices": DTYPES}, "of the arithmetic"),
    "seed": (_INTEGER, ""),
}


def add_arguments(parser):
    files = {"nargs": "+", "metavar": "FILES", "help": "text files, or patterns in quotes"}
    parser.add_argument("--train", required=True, **files)
    parser.add_argument("--heldout", **{**files, "help": "text to measure the perplexity of"})
    add_encoding_arguments(parser)
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
    parser.add_argument(
        "--init",
        metavar="MODEL",
        help=f"start from the weights of {MODEL_HELP}; how it was trained, such as its dropout, is "
        "not taken from it",
    )
    parser.add_argument("--resume", action="store_true", help="resume from the last checkpoint")
    _add_training_options(parser.add_argument_group("training"))
    for name in ("checkpoint_every", "evaluate_every"):
        parser.add_argument(
            _option(name),
            type=int,
            default=_DEFAULTS[name],
            metavar="STEPS",
            help="(%(default)s)",
        )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _add_training_options(group):
    """Adds the fields of `TrainingOptions`; one that is not typed is left to --options."""
    group.add_argument("--steps", type=int, metavar="N", help="batches, in the place of epochs")
    for name, (kind, text) in _TRAINING_OPTIONS.items():
        default = _DEFAULTS[name]
        if default is not None:
            text = f"{text} ({'yes' if default is True else default})".lstrip()
        group.add_argument(_option(name), help=text, **kind)
    add_matmul_dtype_argument(group)


def _option(name):
    """An argument's name as it is typed."""
    return f"--{name.replace('_', '-')}"


def run(options):
    corpus, heldout = (
        training.Corpus(files, options.encoding, options.errors) if files else None
        for files in (options.train, options.heldout)
    )
    settings = _settings(options)
    _check_output(options)
    if options.init:
        with open_model_argument(options.init):
            pass
    with making_folder(options.output), locked_folder(options.output):
        _check_output(options)  # another run may have ended there since
        _train(options, corpus, heldout, *settings)


def _check_output(options):
    """Refuses a folder with another run, or with a model, so that neither is lost."""
    is_run = bool(checkpoint_names(os.path.join(options.output, CHECKPOINTS)))
    if is_run and not options.resume:
        raise FileExistsError(
            f"{options.output} holds a run already; resume it with --resume, or give another folder"
        )
    if not is_run and os.path.exists(os.path.join(options.output, OPTIONS_FILE)):
        raise FileExistsError(
            f"{options.output} holds a model, but no checkpoint; give another folder, and the "
            "model with --init to start from its weights"
        )


def _train(options, corpus, heldout, config, arguments, vocabulary):
    is_shown = not options.quiet
    describe_corpus("training", corpus, vocabulary, is_shown)
    if heldout:
        unknown = describe_corpus("held-out", heldout, vocabulary, is_shown)
    trainer = training.Trainer(
        make_model(options, config, vocabulary, arguments),
        corpus,
        arguments,
        options.output,
        heldout,
        options.steps,
        options.checkpoint_every,
        options.evaluate_every,
    )
    if options.resume:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            is_resumed = trainer.restore()
        if is_shown and not is_resumed:
            print_status("no checkpoint yet: from step 0")
        elif is_shown and trainer.step < trainer.num_steps:
            print_status(f"resuming from step {trainer.step:,} of {trainer.num_steps:,}")
        elif is_shown:
            print_status(f"the run is at step {trainer.step:,} already; nothing is left to train")
        for warning in caught:
            print_status(f"warning: {warning.message}")
    if is_shown and trainer.step < trainer.num_steps:
        print_status(describe_work(trainer))
        print_status("tracing the first step ...")
    display = ProgressDisplay(
        "training",
        trainer.num_steps,
        "steps",
        rate_unit="tokens",
        is_shown=is_shown,
        start=trainer.step,
        line_every=_LINE_INTERVAL,
    )
    with display:
        best = trainer.run(step_report(display, trainer.tokens_per_step))
    if is_shown:
        end = f"{options.output}: {pluralize(trainer.step, 'step')}"
        if heldout:
            end += f", held-out perplexity {best:.2f}, {unknown:.1%} of its words unknown"
        print_status(end)


def describe_corpus(name, corpus, vocabulary, is_shown):
    """Reads a corpus, checks it, and says what is in it, if `is_shown`.

    Returns:
        The share of its tokens that the vocabulary does not have, float.
    """
    if is_shown:
        print_status(f"reading the {name} text ...")
    with reading_display(corpus.files, is_shown) as display:
        unknown = corpus.oov_rate(vocabulary, display.advance)
    if is_shown:
        sentences, tokens = corpus.counts()
        print_status(
            f"{name} text: {pluralize(sentences, 'sentence')}, {pluralize(tokens, 'token')}, "
            f"{unknown:.1%} of them not among the {pluralize(len(vocabulary), 'word')} of the "
            "vocabulary"
        )
    return unknown


def describe_work(trainer):
    """A line that says how much a `Trainer` will do, before its first step."""
    num_steps = trainer.num_steps - trainer.step
    num_parameters = sum(v.shape.num_elements() for v in trainer.training_step.variables)
    return (
        f"to train: {pluralize(num_steps, 'step')} of {trainer.tokens_per_step:,} tokens, "
        f"{num_steps * trainer.tokens_per_step:,} tokens in all (ends of sentences count); "
        f"{num_parameters / 1e6:,.1f} million parameters; "
        f"checkpoints of {trainer.checkpoint_bytes() / 1e6:,.1f} MB, at most three at a time"
    )


def _describe_cost(num_steps, num_left, tokens_per_second, seconds_left):
    """A line that says from the first steps how long a run will take, and its memory."""
    memory = ""
    with contextlib.suppress(ImportError):  # Windows has no such module
        import resource

        unit = 1 if sys.platform == "darwin" else 1024  # bytes, in which the system counts
        highest = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = f"; memory: at most {highest / 1e9:,.1f} GB until now"
    return (
        f"estimate from {pluralize(num_steps, 'step')}: {duration(seconds_left)} for the other "
        f"{num_left:,}, at {tokens_per_second:,.0f} tokens/s and without evaluations{memory}"
    )


def step_report(display, tokens_per_step):
    """A function that shows the metrics of each step of a `Trainer` in a `ProgressDisplay`."""
    mean_loss, first_step, is_estimated = None, display.count, False

    def report(metrics):
        nonlocal mean_loss, is_estimated
        step, loss = metrics["step"], metrics["loss"]
        mean_loss = (
            loss if mean_loss is None else mean_loss + (1 - _LOSS_DECAY) * (loss - mean_loss)
        )
        perplexity = math.exp(min(mean_loss, 700))  # of more, a float has no exponential
        note = f"loss {mean_loss:.3f}, training perplexity {perplexity:,.1f}"
        display.update(step, step * tokens_per_step, note)
        is_due = not is_estimated and step < display.total
        if is_due and (speed := display.speed()) and speed[0] >= _ESTIMATE_AFTER:
            is_estimated = True
            _, rate, left = speed
            display.print(_describe_cost(step - first_step, display.total - step, rate, left))
        if "evaluation" in metrics:
            result = metrics["evaluation"]
            display.print(
                f"step {step:,}: held-out perplexity {result['perplexity']:.2f} "
                f"(forward {result['forward']:.2f}, backward {result['backward']:.2f}), "
                f"{result['oov_rate']:.1%} of its words unknown"
            )

    return report


def print_status(line):
    """Writes a line to standard error."""
    print(line, file=sys.stderr, flush=True)


def _settings(options):
    """The model's `ElmoConfig`, the `TrainingOptions` and the `Vocabulary`."""
    config, known, num_words = SMALL, {}, None
    if options.options:
        config, known, num_words = training.read_options(options.options)
    for name in (*_TRAINING_OPTIONS, "matmul_dtype"):
        if getattr(options, name) is not None:
            known[name] = getattr(options, name)
    arguments = training.TrainingOptions(**known)
    vocabulary = Vocabulary(options.vocabulary)
    if num_words not in (None, len(vocabulary)):
        raise ValueError(
            f"{options.vocabulary} must have as many words as {options.options} says. Received: "
            f"{pluralize(len(vocabulary), 'word')}, and n_tokens_vocab={short_repr(num_words)}"
        )
    arguments.for_vocabulary(len(vocabulary))  # raises where there are too many samples
    return config, arguments, vocabulary


def make_model(options, config, vocabulary, arguments):
    """The `BiLanguageModel` that a training begins with.

    Args:
        options: the typed ones. `init`: str or `None`, as `--init`; `options`: path or `None`.
        config: `ElmoConfig`, the shape that `options.options` says. `init` must have it, too.
        vocabulary: a `Vocabulary`.
        arguments: `TrainingOptions`.
    """
    if not options.init:
        bilm = BiLanguageModel(config, vocabulary, dtype=arguments.dtype)
        bilm.initialize(arguments.seed)
        return bilm
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a new softmax is trained here
        source = model_source(options.init)
        bilm = BiLanguageModel.from_pretrained(source, vocabulary, dtype=arguments.dtype)
    if not bilm.has_softmax:
        bilm.initialize_softmax(arguments.seed)
    if options.options and bilm.config != config:
        raise ValueError(
            f"The model of {options.init} must have the shape that {options.options} says. "
            "Received: another shape"
        )
    return bilm
