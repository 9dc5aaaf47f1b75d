"""Train a biLM on text files.

Trains a biLM on text files (a sentence a line; *.gz too). DIR gets the model (options.json,
weights.hdf5, vocab.txt, softmax.hdf5), checkpoints, and logs for TensorBoard.
Ctrl-C writes a checkpoint; `-o DIR --resume` continues from the last one. It trains on one device.

    keras-elmo train --train 'texts/*' --vocab vocab.txt -o my-elmo --epochs 3
    keras-elmo train --train mine.txt --vocab vocab.txt -o my-elmo --init tiny
"""

import argparse
import contextlib
import datetime
import json
import math
import os
import pathlib
import sys
import time
import warnings

from keras_elmo_cli.inputs import chosen, model_source, pluralize, read_corpus, reading_bar, report
from keras_elmo_cli.options import COUNT, INTEGER, MODEL_HELP, SWITCH, add_corpus_arguments

# The shape of the published model `small`: arguments of `ElmoConfig`.
SMALL = {"units": 1024, "projection_dim": 128, "num_highway": 1}
_ESTIMATE_AFTER = 10  # seconds of steps: enough for a first speed, and soon enough to stop a run
_ARGUMENTS_FILE = "arguments.json"  # in the folder of a run
_NOT_OF_A_RUN = {"help", "output", "quiet", "resume"}
_LOSS_DECAY = 0.98  # of the running mean: about the last fifty steps count
_NUMBER = {"type": float, "metavar": "X"}
_YES_OR_NO = {"action": argparse.BooleanOptionalAction}
# The fields of `TrainingOptions` (without `matmul_dtype`, an option of other subcommands, too): how
# they are read, their defaults, and their help, which says what the default `None` means.
TRAINING_OPTIONS = {
    "epochs": (_NUMBER, 10, "times to read the corpus"),
    "batch_size": (COUNT, 32, "lanes"),
    "unroll_steps": (COUNT, 20, "tokens of a window"),
    "dropout": (_NUMBER, 0.1, ""),
    "optimizer": ({"choices": ("adagrad", "adam")}, "adagrad", "adagrad is the original's"),
    "learning_rate": (_NUMBER, None, "(adagrad: 0.2, adam: 0.001)"),
    "schedule": ({"choices": ("constant", "linear", "cosine")}, "constant", "how it falls"),
    "warmup_steps": (INTEGER, 0, "steps it rises over"),
    "shuffle": (_YES_OR_NO, True, "read the sentences in another order in each epoch"),
    "zero_starts": (
        _YES_OR_NO,
        True,
        "begin sentences that begin a window from a zero state, as embedding does",
    ),
    "clip_norm": (_NUMBER, 10.0, "of all gradients"),
    "num_negatives": (
        INTEGER,
        None,
        "samples, at most half of the vocabulary's words; 0: the full softmax (1024, or as many as "
        "there may be)",
    ),
    "dtype": ({"choices": ("float32", "mixed_bfloat16")}, "float32", "of the arithmetic"),
    "seed": (INTEGER, 0, ""),
}


def add_arguments(parser):
    files = {"nargs": "+", "metavar": "FILES"}
    parser.add_input("--train", **files, help="text files, or patterns in quotes")
    parser.add_input("--heldout", **files, help="text to measure the perplexity of")
    add_corpus_arguments(parser)
    parser.add_input(
        "--vocab",
        dest="vocabulary",
        metavar="FILE",
        help="from `keras-elmo vocabulary` (default: that of --init, whose softmax is trained on)",
    )
    parser.add_shared("--output", metavar="DIR", help="folder to write")
    parser.add_input(
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
    parser.add_argument(
        "--resume",
        **SWITCH,
        help="resume from the last checkpoint; without --train, with the arguments of that run",
    )
    parser.add_shared("--matmul-dtype", "--quiet")
    add = parser.add_argument_group("training").add_argument
    add("--steps", **COUNT, help="batches, in the place of epochs")
    for name, (kind, default, text) in TRAINING_OPTIONS.items():
        if default is not None:
            text = f"{text} ({'yes' if default is True else default})".lstrip()
        add(f"--{name.replace('_', '-')}", help=text, **kind)  # not typed, it is that of --options
    for name, default in (("--checkpoint-every", 500), ("--evaluate-every", 2000)):
        add(name, type=int, default=default, metavar="STEPS", help="(%(default)s)")


def run(options):
    from keras_elmo.files.atomic import locked_folder, making_folder, replacing_file

    arguments = _resumed_arguments(options)
    corpus, heldout = (
        read_corpus(options, files) if files else None for files in (options.train, options.heldout)
    )
    _check_output(options)
    model, training_options = make_model(options)
    with making_folder(options.output), locked_folder(options.output, reentrant=True):
        _check_output(options)  # another run may have ended there since
        with replacing_file(os.path.join(options.output, _ARGUMENTS_FILE)) as temporary:
            pathlib.Path(temporary).write_text(json.dumps(arguments, indent=1))
        _train(options, corpus, heldout, model, training_options)


def _resumed_arguments(options):
    """The arguments of a run. Those that are not typed are of the run that `--resume` continues."""
    path = pathlib.Path(options.output, _ARGUMENTS_FILE)
    if options.train is None and options.resume and path.exists():
        for name, value in json.loads(path.read_text()).items():
            if getattr(options, name) == options.parser.get_default(name):
                setattr(options, name, value)
    if options.train is None:
        raise ValueError(
            "There must be --train FILES, or --resume with the folder of a run. Received: neither"
        )
    return chosen(options, *options.parser.option_names().keys() - _NOT_OF_A_RUN)


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


def _train(options, corpus, heldout, model, training_options):
    from keras_elmo import training
    from keras_elmo.process.progress import ProgressBar

    _describe_corpus(options, "training", corpus, model.vocabulary)
    if heldout:
        unknown = _describe_corpus(options, "held-out", heldout, model.vocabulary)
    trainer = training.Trainer(
        model,
        corpus,
        training_options,
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
        if not is_resumed:
            report(options, "no checkpoint yet: from step 0")
        elif trainer.step < trainer.num_steps:
            report(options, f"resuming from step {trainer.step:,} of {trainer.num_steps:,}")
        else:
            report(options, f"nothing is left to train: the run is at step {trainer.step:,}")
        for warning in caught:
            report(options, f"warning: {warning.message}")
    if trainer.step < trainer.num_steps:
        report(options, _describe_work(trainer))
        report(options, "tracing the first step ...")
    is_shown = not options.quiet
    with ProgressBar("training", trainer.num_steps, "steps", is_shown, initial=trainer.step) as bar:
        best = trainer.run(step_report(bar, trainer.tokens_per_step))
    end = f"{options.output}: {pluralize(trainer.step, 'step')}"
    if heldout:
        end += f", held-out perplexity {best:.2f}, {unknown:.1%} of its words unknown"
    report(options, end)


def _describe_corpus(options, name, corpus, vocabulary):
    """Reads and checks a corpus, says what is in it, and returns the share of unknown tokens."""
    report(options, f"reading the {name} text ...")
    with reading_bar(options, corpus.files) as bar:
        unknown = corpus.oov_rate(vocabulary, bar.update)
    sentences, tokens = corpus.counts()
    report(
        options,
        f"{name} text: {pluralize(sentences, 'sentence')}, {pluralize(tokens, 'token')}, "
        f"{unknown:.1%} of them not among the {pluralize(len(vocabulary), 'word')} of the "
        "vocabulary",
    )
    return unknown


def _describe_work(trainer):
    num_steps = trainer.num_steps - trainer.step
    step = trainer.training_step
    num_parameters, num_accumulators = (
        sum(v.shape.num_elements() for v in variables)
        for variables in (step.variables, step.optimizer.accumulators)
    )
    checkpoint_size = 4 * (num_parameters + num_accumulators)  # float32
    return (
        f"to train: {pluralize(num_steps, 'step')} of {trainer.tokens_per_step:,} tokens, "
        f"{num_steps * trainer.tokens_per_step:,} tokens in all (ends of sentences count); "
        f"{num_parameters / 1e6:,.1f} million parameters; "
        f"checkpoints of {checkpoint_size / 1e6:,.1f} MB, at most three at a time"
    )


def _describe_cost(num_steps, num_left, seconds, tokens_per_step):
    """A line that says from the first steps, of `seconds`, how long a run will take."""
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
    mean_loss, began, is_estimated = 0.0, None, False

    def show(metrics):
        nonlocal mean_loss, began, is_estimated
        step, loss, now = metrics["step"], metrics["loss"], time.monotonic()
        if began is None:
            mean_loss, began = loss, (now, step)  # after the first step, with its slow trace
        mean_loss += (1 - _LOSS_DECAY) * (loss - mean_loss)
        perplexity = math.exp(min(mean_loss, 700))  # of more, a float has no exponential
        note = f"loss {mean_loss:.3f}, training perplexity {perplexity:,.1f}"
        bar.set_postfix_str(note, refresh=False)
        bar.update(step - bar.n)
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

    return show


def make_model(options):
    """The `BiLanguageModel` that a training begins with, and the `TrainingOptions`."""
    from keras_elmo import training
    from keras_elmo.checks import short_repr
    from keras_elmo.config import ElmoConfig

    config, known, num_words = ElmoConfig(**SMALL), {}, None
    if options.options:
        config, known, num_words = training.read_options(options.options)
    for name in (*TRAINING_OPTIONS, "matmul_dtype"):
        if getattr(options, name) is not None:
            known[name] = getattr(options, name)
    training_options = training.TrainingOptions(**known)
    kwargs = {"dtype": training_options.dtype, "tokenizer": options.tokenizer}
    if options.init:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a new softmax is trained here
            source = model_source(options.init)
            bilm = training.BiLanguageModel.from_pretrained(source, options.vocabulary, **kwargs)
        if options.options and bilm.config != config:
            raise ValueError(
                f"The model of {options.init} must have the shape that {options.options} says. "
                "Received: another shape"
            )
        if not bilm.has_softmax:
            bilm.initialize_softmax(training_options.seed)
    elif options.vocabulary:
        bilm = training.BiLanguageModel(config, options.vocabulary, **kwargs)
        bilm.initialize(training_options.seed)
    else:
        raise ValueError("There must be --vocab FILE, or --init MODEL. Received: neither")
    if num_words not in (None, len(bilm.vocabulary)):
        raise ValueError(
            f"The vocabulary must have as many words as {options.options} says. Received: "
            f"{pluralize(len(bilm.vocabulary), 'word')}, and n_tokens_vocab={short_repr(num_words)}"
        )
    try:
        training_options.for_vocabulary(len(bilm.vocabulary))
    except ValueError as error:  # there are too many samples
        if options.num_negatives is None:
            name = f"n_negative_samples_batch of {options.options} must fit the vocabulary"
            raise ValueError(f"{name}, or --num-negatives replace it. {error}") from None
        raise
    return bilm, training_options
