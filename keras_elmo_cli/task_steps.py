"""What `keras-elmo classify` and `keras-elmo tag` have in common."""

import contextlib
import sys
from typing import NamedTuple

from keras_elmo_cli.inputs import chosen, load_elmo, read_records, report, typed_arguments
from keras_elmo_cli.options import (
    COUNT,
    DECODING,
    FORMATS,
    INTEGER,
    MODEL_HELP,
    SWITCH,
    TOKENIZERS_HELP,
)


class Task(NamedTuple):
    """What is typed in other ways for each of the two.

    A file with labels holds what `form` says, in one of `formats`, and `--label-field` names what
    `label_form` says. `packaged` ends the help of `--model`, with models in the package.
    """

    model: str  # what is trained
    form: str
    label_form: str
    formats: tuple = FORMATS
    packaged: str = ""

    def add_train_arguments(self, parser):
        """Adds the arguments of a training."""
        self._add_labelled_file(parser, "train", "TRAIN")
        parser.add_input("--dev", metavar="FILE", help="chooses the best epoch")
        parser.add_input("--test", metavar="FILE", help="is scored at the end")
        help = f"the {self.model} to write (*.keras)"
        parser.add_output(suffixes=(".keras",), metavar="FILE", help=help)
        help = f"{MODEL_HELP} (default: tiny)"
        parser.add_shared("--model", required=False, default="tiny", help=help)
        help = f"{TOKENIZERS_HELP} (default: %(default)s)"
        parser.add_shared("--tokenizer", default="treebank", help=help)
        parser.add_argument(
            "--epochs",
            **COUNT,
            help="at most so many; without it, the training ends by the score of --dev, or else "
            "after 8 to 80, more the fewer texts there are",
        )
        parser.add_argument("--batch-size", **COUNT, default=32, help="(%(default)s)")
        help = "train all of ELMo afterwards, at a smaller rate"
        parser.add_argument("--fine-tune", **SWITCH, help=help)
        parser.add_argument("--seed", **INTEGER, default=0, help="(%(default)s)")
        parser.add_shared("--quiet")

    def add_evaluate_arguments(self, parser):
        """Adds the arguments with which a model is scored on a file with labels."""
        self._add_labelled_file(parser, "file", "FILE")
        self._add_model(parser)

    def add_label_arguments(self, parser):
        """Adds the arguments with which new text gets labels."""
        help = "a text a line, or see --field; *.gz too; - for standard input"
        parser.add_input("file", metavar="FILE", help=help)
        parser.add_shared("--field", *DECODING)
        parser.add_shared("--format", choices=dict.fromkeys((*self.formats, *FORMATS)))
        self._add_model(parser)

    def _add_labelled_file(self, parser, name, metavar):
        help = f"{self.form}; *.gz is decompressed; - for standard input"
        parser.add_input(name, metavar=metavar, help=help)
        parser.add_shared("--field", *DECODING)
        parser.add_shared("--format", choices=self.formats)
        parser.add_argument("--label-field", metavar="NAME", help=self.label_form)

    def _add_model(self, parser):
        help = f"the {self.model}: a *.keras file, a folder of `save_pretrained`, an address"
        parser.add_shared("--model", metavar="MODEL", help=help + self.packaged)
        parser.add_shared("--tokenizer", help=f"{TOKENIZERS_HELP} (default: that of the training)")


def read_labelled(options, file, read):
    """The texts of a file and their labels. `read` has the arguments of `read_texts`."""
    names = ("field", "label_field", "format", "encoding", "errors")
    return read(file, **chosen(options, *names))


def read_parts(options, read):
    """Reads the files of a training: a dict from `"train"`, `"dev"`, `"test"` to pairs of lists."""
    files = chosen(options, "train", "dev", "test")
    return {part: read_labelled(options, file, read) for part, file in files.items() if file}


def train(options, make, data, baseline):
    """Trains the model that `make` makes of an `Elmo`, reports its scores, and writes it.

    `data` is what `read_parts` gives. `baseline` is a function of the training data and others: it
    gives a name, and scores by their names.
    """
    from keras_elmo.files.atomic import replacing_file
    from keras_elmo.process.signals import check_signals

    with replacing_file(options.output) as temporary:  # what cannot be written is found first
        model = _train(options, make, data, baseline)
        model.save(temporary)
        check_signals()


def _train(options, make, data, baseline):
    import keras

    from keras_elmo.process.signals import check_signals

    keras.utils.set_random_seed(options.seed)
    model = make(load_elmo(options))
    verbose = 1 if sys.stderr.isatty() else 2  # a bar, or a line for each epoch

    def fit():
        events = ("on_train_batch_end", "on_test_batch_end")
        signals = dict.fromkeys(events, lambda *_, **__: check_signals())
        callbacks = [keras.callbacks.LambdaCallback(**signals)]
        if "dev" in data and options.epochs is not None:  # else `fit` adds it
            callbacks.append(model.early_stopping())
        model.fit(
            *data["train"],
            epochs=options.epochs,
            batch_size=options.batch_size,
            validation_data=data.get("dev"),
            class_weight=getattr(options, "class_weight", None),
            callbacks=callbacks,
            verbose=0 if options.quiet else verbose,
        )

    with contextlib.redirect_stdout(sys.stderr):  # where Keras shows the progress
        fit()
        if options.fine_tune:
            model.trainable_part = "all"
            report(options, "All of ELMo trains now.")
            fit()
    for part in ("dev", "test"):
        if part in data:
            found = model.evaluate(*data[part], verbose=0, return_dict=True)
            found.pop("loss")
            name, others = baseline(data["train"], data[part])
            print(f"{part}: {_scores(found)}; {name}: {_scores(others)}")
    return model


def _scores(scores):
    return ", ".join(f"{name} {100 * value:.1f} %" for name, value in scores.items())


def load_task(options, kind):
    """The trained model of `--model`, which must be of the class `kind`."""
    return kind.from_pretrained(options.model, **typed_arguments(options))


def evaluate(options, kind, read):
    """Prints how well a trained model does on a file with labels."""
    texts, labels = read_labelled(options, options.file, read)
    print(load_task(options, kind).report(texts, labels))


def batches_of_records(options, count=1024):
    """The `Record`s of a text in lists of at most so many, all strings or all lists of tokens."""
    from keras_elmo.checks import short_repr
    from keras_elmo.files.text_files import input_name

    records, batch = read_records(options, options.file), []
    for path, record in records.read():
        if records.fields.field is None and "\t" in record.text:
            raise ValueError(
                f"Each line of {input_name(path)} must be a text without tabs. If they separate "
                "columns, name the one of the text with `field` and the format with `format`. "
                f"Received: line {record.line_number:,}, {short_repr(record.text)}"
            )
        if len(batch) == count or (batch and type(batch[0].text) is not type(record.text)):
            yield batch
            batch = []
        batch.append(record)
    if batch:
        yield batch
