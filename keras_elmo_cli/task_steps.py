"""What `keras-elmo classify` and `keras-elmo tag` have in common."""

import contextlib
import os
import sys

from keras_elmo_cli.arguments import MODEL_HELP, add_tokenizer_argument, check_overwrite, load_elmo
from keras_elmo_cli.choices import FORMATS
from keras_elmo_cli.reading import add_reading_arguments, read_records


def add_train_arguments(parser, what, form, label_form, formats=FORMATS):
    """Adds the arguments of a training.

    Args:
        parser: the parser.
        what: str. What is made, such as `"classifier"`.
        form: str. What a file holds.
        label_form: str. What `--label-field` names.
        formats: sequence of strings. The formats of files.
    """
    parser.set_defaults(input_names=("train", "dev", "test"))
    parser.add_argument(
        "train", metavar="TRAIN", help=f"{form}; *.gz is decompressed; - for standard input"
    )
    parser.add_argument("--dev", metavar="FILE", help="chooses the best epoch")
    parser.add_argument("--test", metavar="FILE", help="is scored at the end")
    parser.add_argument(
        "-o", "--output", required=True, metavar="FILE", help=f"the {what} to write (*.keras)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    add_reading_arguments(parser, formats)
    parser.add_argument("--label-field", metavar="NAME", help=label_form)
    parser.add_argument("-m", "--model", default="tiny", help=f"{MODEL_HELP} (default: tiny)")
    add_tokenizer_argument(parser)
    parser.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="at most so many; without it, the training ends by the score of --dev, or else of a "
        "tenth of TRAIN, if it has 2,000 texts or more",
    )
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="(%(default)s)")
    parser.add_argument(
        "--fine-tune", action="store_true", help="train all of ELMo afterwards, at a smaller rate"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="(%(default)s)")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def read_parts(options, read):
    """Reads the files of a training: a dict from `"train"`, `"dev"`, `"test"` to pairs of lists.

    Args:
        options: the parsed arguments.
        read: `read_texts`, or a function of the same arguments.
    """
    names = ("field", "label_field", "format", "encoding", "errors")
    arguments = {name: getattr(options, name) for name in names}
    files = {"train": options.train, "dev": options.dev, "test": options.test}
    return {part: read(file, **arguments) for part, file in files.items() if file is not None}


def train(options, make, data, baseline):
    """Trains a task's model on files, reports its scores, and writes it.

    Args:
        options: the parsed arguments.
        make: function of an `Elmo` that makes the model.
        data: dict of pairs of texts and labels: `"train"`, perhaps `"dev"` and `"test"`.
        baseline: function of the training data and others: a name, and scores by their names.
    """
    from keras_elmo.checks import check_integers
    from keras_elmo.files.atomic import replacing_file
    from keras_elmo.process.signals import check_signals

    check_integers(1, batch_size=options.batch_size)
    if options.epochs is not None:
        check_integers(1, epochs=options.epochs)
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
    import keras

    from keras_elmo.process.signals import check_signals

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
            signals = dict.fromkeys(
                ("on_train_batch_end", "on_test_batch_end"), lambda *_, **__: check_signals()
            )
            callbacks = [keras.callbacks.LambdaCallback(**signals)]
            if "dev" in data and options.epochs is not None:  # else `fit` adds it
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


def add_label_arguments(parser, what, formats=FORMATS, name=""):
    """Adds the arguments with which new text gets labels; see `add_train_arguments`.

    `name` is what follows in the help of `--model`: the names of models in the package.
    """
    parser.set_defaults(input_names=("file",))
    parser.add_argument(
        "file", metavar="FILE", help="a text a line, or see --field; *.gz too; - for standard input"
    )
    parser.add_argument(
        "-m",
        "--model",
        required=True,
        metavar="MODEL",
        help=f"the {what}: a *.keras file, a folder of `save_pretrained`, an address{name}",
    )
    add_reading_arguments(parser, formats)


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
