"""`keras-elmo tag`: trains a tagger of tokens, and tags texts with it."""

import collections
import json

from keras_elmo.analysis.annotated_files import TAG_COLUMNS, read_conllu
from keras_elmo.cli import tasks
from keras_elmo.cli.parsing import Subcommand, add_commands
from keras_elmo.tasks import Tagger
from keras_elmo.tasks.labelled_files import read_tagged
from keras_elmo.tasks.tags import entities, scheme_of

HELP = "train a tagger of tokens, or tag texts with one"
DESCRIPTION = "Trains a `Tagger` on files of tokens with tags, and tags new texts."


def add_arguments(parser):
    add_commands(parser, "STEP", STEPS)


def _add_train_arguments(parser):
    tasks.add_train_arguments(
        parser,
        "tagger",
        "a token a line, with its tag in the last column, and a blank line after each sentence; or "
        "*.conllu; *.gz is decompressed",
    )
    parser.add_argument(
        "--column",
        default="upos",
        choices=list(TAG_COLUMNS),
        help="which tags of *.conllu files (%(default)s)",
    )
    parser.add_argument(
        "--no-crf", action="store_true", help="choose each tag by itself, which is faster"
    )


def _train(options):
    def read(file):
        if file.removesuffix(".gz").endswith(".conllu"):
            return read_conllu(file, options.column)
        return read_tagged(file)

    files = {"train": options.train, "dev": options.dev, "test": options.test}
    data = {part: read(file) for part, file in files.items() if file is not None}
    # Those of the other files too: a rare tag may be in one of them alone.
    labels = sorted({tag for _, tags in data.values() for row in tags for tag in row})
    tasks.train(options, lambda elmo: Tagger(elmo, labels, not options.no_crf), data, baseline)


def baseline(train, others):
    """Each word's most frequent tag, and the most frequent of all for others."""
    counts, total = collections.defaultdict(collections.Counter), collections.Counter()
    for words, row in zip(*train, strict=True):
        for word, tag in zip(words, row, strict=True):
            counts[word][tag] += 1
            total[tag] += 1
    best = {word: count.most_common(1)[0][0] for word, count in counts.items()}
    (usual, _), *_ = total.most_common(1)
    found = [[best.get(word, usual) for word in words] for words in others[0]]
    pairs = [p for rows in zip(others[1], found, strict=True) for p in zip(*rows, strict=True)]
    scores = {"accuracy": sum(a == b for a, b in pairs) / len(pairs)}
    labels = sorted({tag for rows in (*train[1], *others[1]) for tag in rows})
    if scheme_of(labels) is not None:
        index_of = {label: k for k, label in enumerate(labels)}
        spans = [
            {
                (row, *entity)
                for row, tags in enumerate(side)
                for entity in entities([index_of[tag] for tag in tags], labels)
            }
            for side in (others[1], found)
        ]
        scores["f1"] = 2 * len(spans[0] & spans[1]) / max(1, sum(map(len, spans)))
    return "each word's most frequent tag", scores


def _add_label_arguments(parser):
    tasks.add_label_arguments(parser, "tagger")
    parser.add_argument(
        "--entities",
        action="store_true",
        help="print the entities of each line as JSON, with their characters",
    )


def _label(options):
    model = tasks.load(options.model, Tagger)
    for texts in tasks.batches_of_lines(options):
        if options.entities:
            for text, found in zip(texts, model.entities(texts), strict=True):
                row = {"text": text, "entities": [entity._asdict() for entity in found]}
                print(json.dumps(row, ensure_ascii=False))
            continue
        for row in model.tag(texts):
            for token, tag in row:
                print(f"{token}\t{tag}")
            print()


STEPS = [
    Subcommand(
        "train",
        "make a tagger from files",
        "Trains a tagger on tokens with tags, and says how well it does on the dev and the test "
        "file, beside each word's most frequent tag: the accuracy of tokens and, for tags like "
        "B-PER, the F1 score of entities.",
        _add_train_arguments,
        _train,
    ),
    Subcommand(
        "label",
        "tag new texts",
        "Prints a token and its tag on each line, and a blank line after each sentence.",
        _add_label_arguments,
        _label,
    ),
]
