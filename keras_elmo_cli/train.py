"""`keras-elmo train`: text files to a biLM."""

import argparse
import contextlib
import datetime
import math
import os
import sys
import time
import warnings

from keras_elmo_cli.arguments import (
    MODEL_HELP,
    add_matmul_dtype_argument,
    model_source,
    open_model_argument,
    reading_bar,
)
from keras_elmo_cli.choices import DTYPES, NUM_NEGATIVES, OPTIMIZERS, SCHEDULES
from keras_elmo_cli.parsing import pluralize
from keras_elmo_cli.reading import add_encoding_arguments

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
# The shape of the published model `small`: arguments of `ElmoConfig`.
SMALL = {"units": 1024, "projection_dim": 128, "num_highway": 1}
_ESTIMATE_AFTER = 10  # seconds of steps: enough for a first speed, and soon enough to stop a run
_LOSS_DECAY = 0.98  # of the running mean: about the last fifty steps count
_INTEGER, _NUMBER = {"type": int, "metavar": "N"}, {"type": float, "metavar": "X"}
_SWITCH = {"action": argparse.BooleanOptionalAction}
_RATES = ", ".join(f"{name}: {rate:g}" for name, rate in OPTIMIZERS.items())
# The fields of `TrainingOptions` (without `matmul_dtype`, an option of other subcommands, too): how
# they are read, their defaults, and their help, which says what the default `None` means.
TRAINING_OPTIONS = {
    "epochs": (_NUMBER, 10, "times to read the corpus"),
    "batch_size": (_INTEGER, 32, "lanes"),
    "unroll_steps": (_INTEGER, 20, "tokens of a window"),
    "dropout": (_NUMBER, 0.1, ""),
    "optimizer": ({"choices": tuple(OPTIMIZERS)}, "adagrad", "adagrad is the original's"),
    "learning_rate": (_NUMBER, None, f"({_RATES})"),
    "schedule": ({"choices": SCHEDULES}, "constant", "how it falls"),
    "warmup_steps": (_INTEGER, 0, "steps it rises over"),
    "shuffle": (_SWITCH, True, "read the sentences in another order in each epoch"),
    "zero_starts": (
        _SWITCH,
        True,
        "begin sentences that begin a window from a zero state, as embedding does",
    ),
    "clip_norm": (_NUMBER, 10.0, "of all gradients"),
    "num_negatives": (
        _INTEGER,
        None,
        "samples, at most half of the vocabulary's words; 0: the full softmax "
        f"({NUM_NEGATIVES}, or as many as there may be)",
    ),
    "dtype": ({"choices": DTYPES}, "float32", "of the arithmetic"),
    "seed": (_INTEGER, 0, ""),
}


def add_arguments(parser):
    parser.set_defaults(input_names=("train", "heldout", "vocabulary", "options"))
    files = {"nargs": "+", "metavar": "FILES", "help": "text files, or patterns in quotes"}
    parser.add_argument("--train", required=True, **files)
    parser.add_argument("--heldout", **{**files, "help": "text to measure the perplexity of"})
    add_encoding_arguments(parser)
    parser.add_argument(
        "--vocab",
        dest="vocabulary",
        metavar="FILE",
        help="from `keras-elmo vocabulary` (default: that of --init, whose softmax is trained on)",
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
    for name, default in (("checkpoint_every", 500), ("evaluate_every", 2000)):
        parser.add_argument(
            _option(name),
            type=int,
            default=default,
            metavar="STEPS",
            help="(%(default)s)",
        )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def _add_training_options(group):
    """Adds the fields of `TrainingOptions`; one that is not typed is left to --options."""
    group.add_argument("--steps", type=int, metavar="N", help="batches, in the place of epochs")
    for name, (kind, default, text) in TRAINING_OPTIONS.items():
        if default is not None:
            text = f"{text} ({'yes' if default is True else default})".lstrip()
        group.add_argument(_option(name), help=text, **kind)
    add_matmul_dtype_argument(group)


def _option(name):
    """An argument's name as it is typed."""
    return f"--{name.replace('_', '-')}"


def run(options):
    from keras_elmo import training
    from keras_elmo.files.atomic import locked_folder, making_folder

    corpus, heldout = (
        training.Corpus(files, options.encoding, options.errors) if files else None
        for files in (options.train, options.heldout)
    )
    _check_output(options)
    if options.vocabulary is None:
        options.init, options.vocabulary = _find_vocabulary(options.init)
    settings = _settings(options)
    if options.init:
        with open_model_argument(options.init):
            pass
    with making_folder(options.output), locked_folder(options.output):
        _check_output(options)  # another run may have ended there since
        _train(options, corpus, heldout, *settings)


def _find_vocabulary(init):
    """The folder of `--init`, and the file of its vocabulary."""
    from keras_elmo.weights import sources
    from keras_elmo.weights.model_files import VOCABULARY_FILE, find_file

    if init:
        with open_model_argument(init):  # for the error of a model that is not there
            pass
    folder = init and sources.find_folder(model_source(init), with_softmax=True)
    file = folder and find_file(folder, VOCABULARY_FILE)
    if not file:
        raise ValueError(
            "There must be --vocab FILE, or --init with a model that has a vocabulary. "
            f"Received: {f'--init {init}, which has none in a folder' if init else 'neither'}"
        )
    return folder, file


def _check_output(options):
    """Refuses a folder with another run, or with a model, so that neither is lost."""
    from keras_elmo.config import OPTIONS_FILE
    from keras_elmo.training.checkpoints import checkpoint_names
    from keras_elmo.training.trainer import CHECKPOINTS

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
    from keras_elmo import training
    from keras_elmo.process.progress import ProgressBar

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
    with ProgressBar("training", trainer.num_steps, "steps", is_shown, initial=trainer.step) as bar:
        best = trainer.run(step_report(bar, trainer.tokens_per_step))
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
    with reading_bar(corpus.files, is_shown) as bar:
        unknown = corpus.oov_rate(vocabulary, bar.update)
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


def _describe_cost(num_steps, num_left, seconds, tokens_per_step):
    """A line that says from the first steps how long a run will take, and its memory."""
    memory = ""
    with contextlib.suppress(ImportError):  # Windows has no such module
        import resource

        unit = 1 if sys.platform == "darwin" else 1024  # bytes, in which the system counts
        highest = unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = f"; memory: at most {highest / 1e9:,.1f} GB until now"
    duration = datetime.timedelta(seconds=round(seconds * num_left / num_steps))
    return (
        f"estimate from {pluralize(num_steps, 'step')}: {duration} for the other {num_left:,}, at "
        f"{num_steps * tokens_per_step / seconds:,.0f} tokens/s and without evaluations{memory}"
    )


def step_report(bar, tokens_per_step):
    """A function that shows the metrics of each step of a `Trainer` in a `ProgressBar`."""
    mean_loss, began, is_estimated = None, None, False

    def report(metrics):
        nonlocal mean_loss, began, is_estimated
        step, loss, now = metrics["step"], metrics["loss"], time.monotonic()
        mean_loss = (
            loss if mean_loss is None else mean_loss + (1 - _LOSS_DECAY) * (loss - mean_loss)
        )
        perplexity = math.exp(min(mean_loss, 700))  # of more, a float has no exponential
        note = f"loss {mean_loss:.3f}, training perplexity {perplexity:,.1f}"
        bar.set_postfix_str(note, refresh=False)
        bar.update(step - bar.n)
        if began is None:
            began = now, step  # the first step, in which TensorFlow traces, is slow
        seconds, num_steps = now - began[0], step - began[1]
        if not is_estimated and seconds >= _ESTIMATE_AFTER and step < bar.total:
            is_estimated = True
            bar.print(_describe_cost(num_steps, bar.total - step, seconds, tokens_per_step))
        if "evaluation" in metrics:
            result = metrics["evaluation"]
            bar.print(
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
    from keras_elmo import training
    from keras_elmo.checks import short_repr
    from keras_elmo.config import ElmoConfig
    from keras_elmo.training.vocabulary import Vocabulary

    config, known, num_words = ElmoConfig(**SMALL), {}, None
    if options.options:
        config, known, num_words = training.read_options(options.options)
    for name in (*TRAINING_OPTIONS, "matmul_dtype"):
        if getattr(options, name) is not None:
            known[name] = getattr(options, name)
    arguments = training.TrainingOptions(**known)
    vocabulary = Vocabulary(options.vocabulary)
    if num_words not in (None, len(vocabulary)):
        raise ValueError(
            f"{options.vocabulary} must have as many words as {options.options} says. Received: "
            f"{pluralize(len(vocabulary), 'word')}, and n_tokens_vocab={short_repr(num_words)}"
        )
    try:
        arguments.for_vocabulary(len(vocabulary))
    except ValueError as error:  # there are too many samples
        if options.num_negatives is not None:
            raise
        raise ValueError(
            f"{options.options}: n_negative_samples_batch does not fit {options.vocabulary}, but "
            f"--num-negatives replaces it. {error}"
        ) from None
    return config, arguments, vocabulary


def make_model(options, config, vocabulary, arguments):
    """The `BiLanguageModel` that a training begins with.

    Args:
        options: the typed ones. `init`: str or `None`, as `--init`; `options`: path or `None`.
        config: `ElmoConfig`, the shape that `options.options` says. `init` must have it, too.
        vocabulary: a `Vocabulary`.
        arguments: `TrainingOptions`.
    """
    from keras_elmo.training import BiLanguageModel

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
