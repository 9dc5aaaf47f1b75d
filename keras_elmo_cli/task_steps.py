"""What `keras-elmo classify` and `keras-elmo tag` have in common."""

import contextlib
import itertools
import sys
from typing import NamedTuple

from keras_elmo_cli.inputs import chosen, load_elmo, read_records, report, typed_arguments
from keras_elmo_cli.options import COUNT, FORMATS, INTEGER, MODEL_HELP, SWITCH, add_corpus_arguments


class Task(NamedTuple):
    """What each of the two has of its own.

    A file with labels holds what `form` says, and `--label-field` names what `label_form` says.
    `packaged` ends the help of `--model`, with models in the package.
    """

    model: str  # what is trained
    kind: str  # its class in `keras_elmo.tasks`
    reader: str  # the function of `labelled_files` for its files
    form: str
    label_form: str
    packaged: str = ""
    formats: tuple = ()  # beside `FORMATS`
    span_formats: tuple = ()  # of files with labels, whose texts the reader splits
    columns: dict = {}  # options of the command's own that the reader takes, and their help

    def add_train_arguments(self, parser):
        self._add_file(parser, "train")
        parser.add_input("--dev", metavar="FILE", help="chooses the best epoch")
        parser.add_input("--test", metavar="FILE", help="is scored at the end")
        help = f"the {self.model} to write (*.keras)"
        parser.add_output(suffixes=(".keras",), metavar="FILE", help=help)
        help = f"{MODEL_HELP} (default: tiny)"
        parser.add_shared("--model", required=False, default="tiny", help=help)
        add_corpus_arguments(parser, "treebank")
        parser.add_argument(
            "--epochs",
            **COUNT,
            help="at most so many (default: as the score of --dev says, or else 8 to 80, more the "
            "fewer texts there are)",
        )
        parser.add_argument("--batch-size", **COUNT, default=32, help="(%(default)s)")
        help = "train all of ELMo afterwards, at a smaller rate"
        parser.add_argument("--fine-tune", **SWITCH, help=help)
        parser.add_argument("--seed", **INTEGER, default=0, help="(%(default)s)")
        parser.add_shared("--quiet")

    def add_evaluate_arguments(self, parser, has_labels=True):
        self._add_file(parser, "file", has_labels)
        help = f"the {self.model}: a *.keras file, a folder of `save_pretrained`, an address"
        parser.add_shared("--model", metavar="MODEL", help=help + self.packaged)
        parser.add_shared("--tokenizer", "--encoding", "--errors")

    def add_label_arguments(self, parser):
        self.add_evaluate_arguments(parser, has_labels=False)

    def _add_file(self, parser, name, has_labels=True):
        form = self.form if has_labels else "a text a line, or see --field"
        help = f"{form}; *.gz is decompressed; - for standard input"
        parser.add_input(name, metavar=name.upper(), help=help)
        formats = (*self.formats, *FORMATS, *(self.span_formats if has_labels else ()))
        parser.add_shared("--field")
        parser.add_shared("--format", choices=formats)
        if has_labels:
            parser.add_argument("--label-field", metavar="NAME", help=self.label_form)
        for column, help in self.columns.items():
            parser.add_argument(f"--{column.replace('_', '-')}", metavar="NAME", help=help)

    def reading(self, options):
        """The arguments of the reader that are typed: a dict."""
        names = ("field", "label_field", "format", "encoding", "errors")
        return chosen(options, *names, *self.columns)

    def read(self, options, file, tokenizer=None):
        """The texts of a file and their labels. `tokenizer` is used if none is typed."""
        from keras_elmo.files import labelled_files
        from keras_elmo.text import get_tokenizer

        arguments = self.reading(options)
        if self.span_formats:
            arguments["tokenizer"] = get_tokenizer(options.tokenizer or tokenizer)
        return getattr(labelled_files, self.reader)(file, **arguments)

    def read_parts(self, options):
        """The files of a training: a dict from `"train"`, `"dev"`, `"test"` to pairs of lists."""
        files = chosen(options, "train", "dev", "test")
        return {part: self.read(options, file) for part, file in files.items() if file}

    def train(self, options, data, labels, baseline, **kwargs):
        """Trains a model on what `read_parts` gave, reports its scores, and writes it.

        `baseline` is a function of the training data and others: it gives a name, and scores by
        their names. `kwargs` are those of the model.
        """
        import keras

        from keras_elmo import tasks
        from keras_elmo.files.atomic import replacing_file
        from keras_elmo.process.signals import check_signals

        with replacing_file(options.output) as temporary:  # what cannot be written is found first
            keras.utils.set_random_seed(options.seed)
            model = getattr(tasks, self.kind)(load_elmo(options), labels, **kwargs)
            with contextlib.redirect_stdout(sys.stderr):  # where Keras shows the progress
                _fit(options, model, data)
                if options.fine_tune:
                    model.trainable_part = "all"
                    report(options, "All of ELMo trains now.")
                    _fit(options, model, data)
            for part in filter(data.get, ("dev", "test")):
                found = model.evaluate(*data[part], verbose=0, return_dict=True)
                found.pop("loss")
                name, others = baseline(data["train"], data[part])
                print(f"{part}: {_scores(found)}; {name}: {_scores(others)}")
            model.save(temporary)
            check_signals()

    def load(self, options):
        """The trained model of `--model`."""
        from keras_elmo import tasks

        return getattr(tasks, self.kind).from_pretrained(options.model, **typed_arguments(options))

    def evaluate(self, options):
        """Prints the report of a trained model on a file with labels."""
        model = self.load(options)
        texts, labels = self.read(options, options.file, tokenizer=model.elmo.tokenizer)
        print(model.report(texts, labels))


def _fit(options, model, data):
    import keras

    from keras_elmo.process.signals import check_signals

    events = ("on_train_batch_end", "on_test_batch_end")
    signals = dict.fromkeys(events, lambda *_, **__: check_signals())
    callbacks = [keras.callbacks.LambdaCallback(**signals)]
    if "dev" in data and options.epochs is not None:  # else `fit` adds it
        callbacks.append(model.early_stopping())
    verbose = 1 if sys.stderr.isatty() else 2  # a bar, or a line for each epoch
    model.fit(
        *data["train"],
        epochs=options.epochs,
        batch_size=options.batch_size,
        validation_data=data.get("dev"),
        class_weight=getattr(options, "class_weight", None),
        callbacks=callbacks,
        verbose=0 if options.quiet else verbose,
    )


def _scores(scores):
    return ", ".join(f"{name} {100 * value:.1f} %" for name, value in scores.items())


def batches_of_records(options):
    """The `Record`s of a text in lists of at most 1024, all strings or all lists of tokens."""
    from keras_elmo.checks import short_repr
    from keras_elmo.files.text_files import input_name

    records = read_records(options, options.file)
    found = (record for _, record in records.read())
    for _, group in itertools.groupby(found, lambda record: type(record.text)):
        while batch := list(itertools.islice(group, 1024)):
            with_tabs = (record for record in batch if "\t" in record.text)
            if options.field is None and (record := next(with_tabs, None)):
                raise ValueError(
                    f"Each line of {input_name(options.file)} must be a text without tabs. If they "
                    "separate columns, name that of the text with `field`, and the format with "
                    f"`format`. Received: line {record.line_number:,}, {short_repr(record.text)}"
                )
            yield batch
