"""Train a classifier of texts, score it, or label texts with it."""

import collections

from keras_elmo_cli import task_steps
from keras_elmo_cli.options import add_commands

# A word with its apostrophe, or marks: the texts may be tokenised or not.
WORD_PATTERN = r"\w+'?\w*|[^\w\s]+"
TASK = task_steps.Task(
    "classifier",
    "TextClassifier",
    "read_texts",
    "a text, a tab and a label on each line; or see --field",
    "with --field, the field or column that is the label",
)
_EVALUATE = """Score a classifier on a file with labels.

Prints the precision, the recall and the F1 score of each label, and how many texts have it.

    keras-elmo classify evaluate test.tsv -m reviews.keras
    keras-elmo classify evaluate a.csv --field text --label-field stars -m a.keras
"""
_SPACES = str.maketrans("\t\r\n", "   ")


def add_arguments(parser):
    steps = {
        "train": (_train.__doc__, _add_train_arguments, _train),
        "evaluate": (_EVALUATE, TASK.add_evaluate_arguments, TASK.evaluate),
        "label": (_label.__doc__, TASK.add_label_arguments, _label),
    }
    add_commands(parser, steps)


def _add_train_arguments(parser):
    TASK.add_train_arguments(parser)
    help = "balanced: the rarer a label, the more each of its texts counts"
    parser.add_argument("--class-weight", choices=["balanced"], help=help)


def _train(options):
    """Make a classifier from files.

    Trains a classifier on texts with labels, and says how well it does on the dev and the test
    file, beside a logistic regression on words and pairs of words (which needs scikit-learn;
    without it, beside the most frequent label).

        keras-elmo classify train train.tsv --dev dev.tsv -o reviews.keras
        keras-elmo classify train a.csv --field text --label-field stars -o a.keras
    """
    data = TASK.read_parts(options)
    # Those of the other files too: a rare label may be in one of them alone.
    labels = sorted({label for _, labels in data.values() for label in labels})
    TASK.train(options, data, labels, baseline)


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
    """Label new texts.

    Prints the label, its probability and the text, with tabs between them, a line for each text.
    (Tabs and line ends within a text become spaces.)

        keras-elmo classify label new.txt -m reviews.keras
        keras-elmo classify label new.csv --field text -m a.keras
    """
    model = TASK.load(options)
    for records in task_steps.batches_of_records(options):
        texts = [record.line for record in records]
        rows = model.predict(texts, verbose=0)
        for text, label, row in zip(texts, model.labels_of(rows), rows, strict=True):
            is_list = isinstance(label, list)
            found = ",".join(map(str, label)) if is_list else f"{label}\t{row.max():.3f}"
            print(f"{found}\t{text.translate(_SPACES)}")
