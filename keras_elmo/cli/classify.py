"""`keras-elmo classify`: trains a classifier of texts, and labels texts with it."""

import collections

from keras_elmo.cli import tasks
from keras_elmo.cli.parsing import Subcommand, add_commands
from keras_elmo.tasks import TextClassifier
from keras_elmo.tasks.labelled_files import read_texts

# A word with its apostrophe, or marks: the texts may be tokenised or not.
WORD_PATTERN = r"\w+'?\w*|[^\w\s]+"

HELP = "train a classifier of texts, or label texts with one"
DESCRIPTION = "Trains a `TextClassifier` on files of texts with labels, and labels new texts."


def add_arguments(parser):
    add_commands(parser, "STEP", STEPS)


def _add_train_arguments(parser):
    tasks.add_train_arguments(
        parser,
        "classifier",
        "a text, a tab and a label on each line; or *.csv; *.gz is decompressed",
    )
    parser.add_argument(
        "--text-column", metavar="NAME", help="the column of the texts, if the first line has names"
    )
    parser.add_argument("--label-column", metavar="NAME", help="that of the labels")


def _train(options):
    files = {"train": options.train, "dev": options.dev, "test": options.test}
    data = {
        part: read_texts(file, options.text_column, options.label_column)
        for part, file in files.items()
        if file is not None
    }
    labels = sorted(set(data["train"][1]))
    tasks.train(options, lambda elmo: TextClassifier(elmo, labels), data, baseline)


def baseline(train, others):
    """A logistic regression on words and pairs of words, or the most frequent label."""
    try:
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError:
        label, _ = collections.Counter(train[1]).most_common(1)[0]
        name = "the most frequent label (a bag of words needs scikit-learn)"
        return name, {"accuracy": others[1].count(label) / len(others[1])}
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=WORD_PATTERN)
    model = LogisticRegression(C=10, max_iter=1000).fit(words.fit_transform(train[0]), train[1])
    return "a bag of words", {"accuracy": model.score(words.transform(others[0]), others[1])}


def _label(options):
    model = tasks.load(options.model, TextClassifier)
    for texts in tasks.batches_of_lines(options):
        rows = model.predict(texts, verbose=0)
        for text, label, row in zip(texts, model.classify_probabilities(rows), rows, strict=True):
            names = label if isinstance(label, list) else [label]
            share = "" if isinstance(label, list) else f"\t{row.max():.3f}"
            print(f"{','.join(map(str, names))}{share}\t{text}")


STEPS = [
    Subcommand(
        "train",
        "make a classifier from files",
        "Trains a classifier on texts with labels, and says how well it does on the dev and the "
        "test file, beside a logistic regression on words and pairs of words (which needs "
        "scikit-learn; without it, beside the most frequent label).",
        _add_train_arguments,
        _train,
    ),
    Subcommand(
        "label",
        "label new texts",
        "Prints the label, its probability and the text of each line, with tabs between them.",
        lambda parser: tasks.add_label_arguments(parser, "classifier"),
        _label,
    ),
]
