"""Train a biLM on text files.

Trains a biLM on text files (a sentence a line; *.gz too). DIR gets the model (options.json,
weights.hdf5, vocab.txt, softmax.hdf5), checkpoints, and a log, log.csv. Ctrl-C writes a checkpoint;
`-o DIR --resume` continues from the last one. On several GPUs, train in Python.

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
_ARGUMENTS_FILE, _LOG_FILE = "arguments.json", "log.csv"  # in the folder of a run
_NOT_OF_A_RUN = {"help", "output", "quiet", "resume"}
_NUMBER = {"type": float, "metavar": "X"}
_YES_OR_NO = {"action": argparse.BooleanOptionalAction}
# The settings of a training: how they are read, their defaults, and their help, which says what the
# default `None` means.
SETTINGS = {
    "epochs": (_NUMBER, 10, "times to read the corpus"),
    "batch_size": (COUNT, 32, "lanes"),
    "unroll_steps": (COUNT, 20, "tokens of a window"),
    "dropout": (_NUMBER, 0.1, ""),
    "optimizer": ({"choices": ("adagrad", "adam")}, "adagrad", "adagrad is the original's"),
    "learning_rate": (_NUMBER, None, "(adagrad: 0.2, adam: 0.001)"),
    "schedule": ({"choices": ("constant", "linear", "cosine")}, "constant", "how it falls"),
    "warmup_steps": (INTEGER, 0, "steps it rises over"),
    "shuffle": (_YES_OR_NO, True, "read the sentences in another order in each epoch"),
    "zero_starts": (_YES_OR_NO, True, "begin a window's first sentence as embedding does"),
    "clip_norm": (_NUMBER, 10.0, "of all gradients"),
    "num_negatives": (INTEGER, None, "samples (1024, or half of the words); 0: the full softmax"),
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
    for name, (kind, default, text) in SETTINGS.items():
        if default is not None:
            text = f"{text} ({'yes' if default is True else default})".lstrip()
        add(f"--{name.replace('_', '-')}", help=text, **kind)  # not typed, it is that of --options
    for name, default in (("--checkpoint-every", 500), ("--evaluate-every", 2000)):
        add(name, type=int, default=default, metavar="STEPS", help="(%(default)s)")


def run(options):
    from keras_elmo.files.atomic import locked_folder, making_folder

    arguments = _resumed_arguments(options)
    corpus, heldout = (
        read_corpus(options, files) if files else None for files in (options.train, options.heldout)
    )
    _check_output(options)
    model, settings = make_model(options)
    with making_folder(options.output), locked_folder(options.output, reentrant=True):
        _check_output(options)  # another run may have ended there since
        _train(options, arguments, corpus, heldout, model, settings)


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
    from keras_elmo.training.checkpoints import FOLDER, checkpoint_names

    is_run = bool(checkpoint_names(os.path.join(options.output, FOLDER)))
    if is_run and not options.resume:
        raise FileExistsError(
            f"{options.output} holds a run already; resume it with --resume, or give another folder"
        )
    if not is_run and os.path.exists(os.path.join(options.output, OPTIONS_FILE)):
        raise FileExistsError(
            f"{options.output} holds a model, but no checkpoint; give another folder, and the "
            "model with --init to start from its weights"
        )


def _train(options, arguments, corpus, heldout, model, settings):
    import keras

    from keras_elmo.files.atomic import replacing_file
    from keras_elmo.process.progress import ProgressBar
    from keras_elmo.training import BackupAndResume
    from keras_elmo.training.checkpoints import run_settings

    _describe_corpus(options, "training", corpus, model.vocabulary)
    if heldout:
        unknown = _describe_corpus(options, "held-out", heldout, model.vocabulary)
    tokens_per_step = settings["batch_size"] * settings["unroll_steps"]
    num_targets = sum(corpus.counts())  # every token, and the end of every sentence
    num_steps = options.steps or math.ceil(settings["epochs"] * num_targets / tokens_per_step)
    compiled = {name: settings[name] for name in ("dropout", "num_negatives", "zero_starts")}
    windows = {name: settings[name] for name in ("batch_size", "unroll_steps", "shuffle", "seed")}
    model.compile(make_optimizer(settings, num_steps), **compiled)
    backup, step = BackupAndResume(options.output, options.checkpoint_every), 0
    if options.resume and (last := backup.last_progress(run_settings(model, corpus, **windows))):
        step = last["step"]
        if step >= num_steps and last["is_epoch_ended"]:
            report(options, f"nothing is left to train: the run is at step {step:,}")
            return
    # A resume that is refused has changed nothing.
    with replacing_file(os.path.join(options.output, _ARGUMENTS_FILE)) as temporary:
        pathlib.Path(temporary).write_text(json.dumps(arguments, indent=1))
    if options.resume:
        place = f"resuming from step {step:,} of {num_steps:,}"
        report(options, place if step else "no checkpoint yet: from step 0")
    report(options, _describe_work(model, num_steps - step, tokens_per_step))
    report(options, "tracing the first step ...")
    # What Keras calls an epoch ends with each checkpoint and each evaluation.
    epoch_steps = math.gcd(options.checkpoint_every, options.evaluate_every)
    num_epochs = math.ceil(num_steps / epoch_steps)
    evaluated = range(options.evaluate_every, num_steps, options.evaluate_every)
    log = keras.callbacks.CSVLogger(os.path.join(options.output, _LOG_FILE), append=True)
    names = sorted(metric.name for metric in model.metrics)
    columns = [*names, "step", *(f"val_{name}" for name in names if heldout)]
    with ProgressBar("training", num_steps, "steps", not options.quiet, initial=step) as bar:
        show = step_report(bar, tokens_per_step)

        def after_batch(batch, logs):
            if backup.step > bar.n:  # else it is of an epoch that is resumed
                show(backup.step, logs)
            model.stop_training |= backup.step >= num_steps

        def after_epoch(epoch, logs):
            logs["step"], log.keys = backup.step, columns  # Keras's would have a `val_step`
            if "val_perplexity" in logs:
                bar.print(
                    f"step {backup.step:,}: held-out perplexity {logs['val_perplexity']:.2f} "
                    f"(forward {logs['val_forward']:.2f}, backward {logs['val_backward']:.2f}), "
                    f"{unknown:.1%} of its words unknown"
                )

        shown = keras.callbacks.LambdaCallback(
            on_train_batch_end=after_batch, on_epoch_end=after_epoch
        )
        model.fit(
            corpus,
            **windows,
            epochs=num_epochs,
            steps_per_epoch=epoch_steps,
            validation_data=heldout,
            validation_freq=[*(step // epoch_steps for step in evaluated), num_epochs],
            callbacks=[backup, shown, log],
            verbose=0,
        )
    end = f"{options.output}: {pluralize(backup.step, 'step')}"
    if heldout:
        end += f", held-out perplexity {backup.best:.2f}, {unknown:.1%} of its words unknown"
    report(options, end)


def _describe_corpus(options, name, corpus, vocabulary):
    """Reads and checks a corpus, says what is in it, and returns the share of unknown tokens."""
    report(options, f"reading the {name} text ...")
    with reading_bar(options, corpus.files) as bar:
        unknown = corpus.oov_rate(vocabulary, bar.update)
    sentences, tokens = corpus.counts()
    counts = f"{pluralize(sentences, 'sentence')}, {pluralize(tokens, 'token')}"
    words = f"the {pluralize(len(vocabulary), 'word')} of the vocabulary"
    report(options, f"{name} text: {counts}, {unknown:.1%} of them not among {words}")
    return unknown


def _describe_work(model, num_steps, tokens_per_step):
    model.optimizer.build(model.trainable_variables)
    num_parameters = model.count_params()
    num_values = num_parameters + sum(math.prod(v.shape) for v in model.optimizer.variables)
    return (
        f"to train: {pluralize(num_steps, 'step')} of {tokens_per_step:,} tokens, "
        f"{num_steps * tokens_per_step:,} tokens in all (ends of sentences count); "
        f"{num_parameters / 1e6:,.1f} million parameters; "
        f"checkpoints of {4 * num_values / 1e6:,.1f} MB, at most three at a time"  # float32
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
    """A function of the step and of Keras's logs that shows them in a `ProgressBar`."""
    began, is_estimated = None, False

    def show(step, logs):
        nonlocal began, is_estimated
        now = time.monotonic()
        if began is None:
            began = now, step  # after the first step, with its slow trace
        note = f"loss {logs['loss']:.3f}, training perplexity {logs['perplexity']:,.1f}"
        bar.set_postfix_str(note, refresh=False)
        bar.update(step - bar.n)
        seconds, num_steps = now - began[0], step - began[1]
        if not is_estimated and seconds >= _ESTIMATE_AFTER and step < bar.total:
            is_estimated = True
            bar.print(_describe_cost(num_steps, bar.total - step, seconds, tokens_per_step))

    return show


def make_optimizer(settings, num_steps):
    """The optimizer of a run of so many steps."""
    from keras_elmo.training.optimizer import OPTIMIZERS, WarmUpSchedule

    optimizer, rate = OPTIMIZERS[settings["optimizer"]], settings["learning_rate"]
    rate = optimizer.LEARNING_RATE if rate is None else rate
    if settings["schedule"] != "constant" or settings["warmup_steps"]:
        rate = WarmUpSchedule(rate, num_steps, settings["schedule"], settings["warmup_steps"])
    return optimizer(rate, global_clipnorm=settings["clip_norm"])


def make_model(options):
    """The `BiLanguageModel` that a training begins with, and a dict of the `SETTINGS`."""
    from keras_elmo import training
    from keras_elmo.checks import short_repr
    from keras_elmo.config import ElmoConfig
    from keras_elmo.training.options import check_settings, fitting_negatives

    config, num_words = ElmoConfig(**SMALL), None
    settings = {name: default for name, (_, default, _) in SETTINGS.items()}
    if options.options:
        config, known, num_words = training.read_options(options.options)
        settings |= known
    settings |= chosen(options, *(name for name in SETTINGS if getattr(options, name) is not None))
    check_settings(settings)
    kwargs = {"dtype": settings["dtype"], "tokenizer": options.tokenizer}
    kwargs |= chosen(options, "matmul_dtype")
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
            bilm.initialize_softmax(settings["seed"])
    elif options.vocabulary:
        bilm = training.BiLanguageModel(config, options.vocabulary, **kwargs)
        bilm.initialize(settings["seed"])
    else:
        raise ValueError("There must be --vocab FILE, or --init MODEL. Received: neither")
    if num_words not in (None, len(bilm.vocabulary)):
        raise ValueError(
            f"The vocabulary must have as many words as {options.options} says. Received: "
            f"{pluralize(len(bilm.vocabulary), 'word')}, and n_tokens_vocab={short_repr(num_words)}"
        )
    fitting_negatives(settings["num_negatives"], len(bilm.vocabulary))
    return bilm, settings
