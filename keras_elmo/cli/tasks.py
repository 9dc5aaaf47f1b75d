"""What `keras-elmo classify` and `keras-elmo tag` have in common."""

import contextlib
import os
import sys
import zipfile

import keras

from keras_elmo.checks import check_integers
from keras_elmo.cli.arguments import MODEL_HELP, add_tokenizer_argument, check_overwrite, load_elmo
from keras_elmo.cli.lines import add_encoding_arguments, open_lines
from keras_elmo.files import replacing_file
from keras_elmo.signals import check_signals


def add_train_arguments(parser, what, form):
    """Adds the arguments of a training.

    Args:
        parser: the parser.
        what: str. What is made, such as `"classifier"`.
        form: str. What a file holds.
    """
    parser.add_argument("train", metavar="TRAIN", help=form)
    parser.add_argument("--dev", metavar="FILE", help="chooses the best epoch")
    parser.add_argument("--test", metavar="FILE", help="is scored at the end")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help=f"the {what} to write (*.keras)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("-m", "--model", default="tiny", help=f"{MODEL_HELP} (default: tiny)")
    add_tokenizer_argument(parser)
    parser.add_argument("--epochs", type=int, default=20, metavar="N", help="at most (%(default)s)")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--fine-tune", action="store_true", help="train all of ELMo afterwards, at a smaller rate"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(%(default)s)")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def train(options, make, data, baseline):
    """Trains a task's model on files, reports its scores, and writes it.

    Args:
        options: the parsed arguments.
        make: function of an `Elmo` that makes the model.
        data: dict of pairs of texts and labels: `"train"`, perhaps `"dev"` and `"test"`.
        baseline: function of the training data and others: a name, and scores by their names.
    """
    check_integers(1, epochs=options.epochs, batch_size=options.batch_size)
    if not options.output.endswith(".keras"):
        raise ValueError(f"The output must be a *.keras file. Received: --output {options.output}")
    check_overwrite(options.output, options.overwrite)
    with replacing_file(options.output) as temporary:  # what cannot be written is found first
        model = _train(options, make, data, baseline)
        # Keras asks for the suffix.
        path = f"{temporary}.keras"
        try:
            model.save(path)
            os.replace(path, temporary)
        finally:
            if os.path.exists(path):
                os.remove(path)
        check_signals()


def _train(options, make, data, baseline):
    keras.utils.set_random_seed(options.seed)
    model = make(load_elmo(options))
    parts = [model.trainable_part, "all"] if options.fine_tune else [model.trainable_part]
    verbose = 1 if sys.stderr.isatty() else 2  # a bar, or a line for each epoch
    with contextlib.redirect_stdout(sys.stderr):  # where Keras shows the progress
        for part in parts:
            if part != model.trainable_part:
                model.trainable_part = part
                if not options.quiet:
                    print("All of ELMo trains now.")
            callbacks = [_Signals()]
            if "dev" in data:
                callbacks.append(model.early_stopping())
            model.fit(
                *data["train"],
                epochs=options.epochs,
                batch_size=options.batch_size,
                validation_data=data.get("dev"),
                callbacks=callbacks,
                verbose=0 if options.quiet else verbose,
            )
    for part in ("dev", "test"):
        if part in data:
            found = model.evaluate(*data[part], verbose=0, return_dict=True)
            found.pop("loss")
            name, others = baseline(data["train"], data[part])
            print(f"{part}: {_scores(found)}; {name}: {_scores(others)}")
    return model


def _scores(scores):
    return ", ".join(f"{name} {100 * value:.1f} %" for name, value in scores.items())


class _Signals(keras.callbacks.Callback):
    """Looks for signals between batches."""

    def on_train_batch_end(self, batch, logs=None):
        check_signals()

    def on_test_batch_end(self, batch, logs=None):
        check_signals()


def add_label_arguments(parser, what):
    """Adds the arguments with which new text gets labels."""
    parser.add_argument("model", metavar="MODEL", help=f"the {what} (*.keras)")
    parser.add_argument(
        "file", metavar="FILE", help="a text, one sentence a line; *.gz too; - for standard input"
    )
    add_encoding_arguments(parser, "the text")


def batches_of_lines(options, count=1024):
    """The lines of a text in lists of at most so many."""
    with open_lines(options.file, False, options.encoding, options.errors) as lines:
        batch = []
        for line in lines:
            batch.append(line)
            if len(batch) == count:
                yield batch
                batch = []
        if batch:
            yield batch


def load(path, kind):
    """A task's model from its file."""
    if not os.path.isfile(path):
        raise FileNotFoundError(f"There is no file {path}")
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} must be a {kind.__name__} in a *.keras file. Received: a file of another "
            "format, or one that is cut off"
        )
    try:
        model = keras.models.load_model(path)
    except (ValueError, TypeError, KeyError) as error:
        reason = str(error).strip().split("\n")[0]
        raise ValueError(f"{path} must be a {kind.__name__}. Received: {reason}") from None
    if not isinstance(model, kind):
        raise ValueError(
            f"{path} must be a {kind.__name__}. Received: a file of a {type(model).__name__}"
        )
    return model
