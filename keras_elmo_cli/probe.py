"""Measure what each layer of a model knows of tags or word senses.

Probes the layers of a model: a simple classifier reads the vectors of each layer, and its score
says how plainly they hold the information.
"""

import json
import os

from keras_elmo_cli.inputs import load_elmo
from keras_elmo_cli.options import DECODING, SWITCH, TAG_COLUMNS, add_commands


def add_arguments(parser):
    tasks = {
        "tags": (_run_tags.__doc__, _add_tags_arguments, _run_tags),
        "senses": (_run_senses.__doc__, _add_senses_arguments, _run_senses),
    }
    add_commands(parser, tasks)


def _add_tags_arguments(parser):
    parser.add_input("train", metavar="TRAIN", help="a CoNLL-U file")
    parser.add_input("tests", nargs="+", metavar="TEST", help="CoNLL-U files")
    parser.add_argument(
        "--label-field",
        default="upos",
        choices=TAG_COLUMNS,
        help="which tags to probe: parts of speech (upos, the default, or xpos, the language's "
        "own), or the relation to the head (deprel)",
    )
    _add_common_arguments(parser)


def _run_tags(options):
    """Tags in CoNLL-U: the accuracy of a linear classifier.

    Trains a logistic regression from the vectors of words to their tags, for each layer and for the
    learned mix of all layers, and shows its accuracy on test files, in percent. Beside it stands
    the accuracy of each word's most frequent tag, which no context helps.

        keras-elmo probe tags train.conllu test.conllu -m tiny
        keras-elmo probe tags train.conllu test.conllu -m tiny --label-field xpos
    """
    from keras_elmo.analysis import probing
    from keras_elmo.files.labelled_files import read_tagged

    train, *tests = (  # before a model is loaded
        read_tagged(path, None, options.label_field, "conllu", options.encoding, options.errors)
        for path in (options.train, *options.tests)
    )
    elmo = load_elmo(options, tokenizer=None)
    tests = dict(zip(options.tests, tests, strict=True))
    rows = probing.probe_tags(elmo, train, tests, progress=not options.quiet)
    _show(options, "tags", rows, "test", "accuracy")


def _add_senses_arguments(parser):
    parser.add_input(
        "folder",
        metavar="FOLDER",
        help="like CoarseWSD-20's: train.data.txt, train.gold.txt, test.data.txt, test.gold.txt; "
        "or a folder of such folders, one a word",
    )
    _add_common_arguments(parser)


def _run_senses(options):
    """Word senses: the F1 of the nearest sense vector.

    Gives an ambiguous word the sense whose mean vector over the training sentences is nearest, for
    each layer and for the average of all layers, and shows the macro F1 in percent. Beside it
    stands the F1 of the most frequent sense.

        keras-elmo probe senses coarse-wsd-20 -m tiny --json
        keras-elmo probe senses coarse-wsd-20/java -m original
    """
    from keras_elmo.analysis import probing

    probing.sense_folders(options.folder)  # before a model is loaded
    elmo = load_elmo(options, tokenizer=None)
    rows = probing.probe_senses(
        elmo, options.folder, not options.quiet, options.encoding, options.errors
    )
    _show(options, "senses", rows, "word", "f1")


def _add_common_arguments(parser):
    parser.libraries = [("sklearn", "scikit-learn", "probe")]
    parser.add_shared("--model", *DECODING, "--quiet")
    parser.add_argument(
        "--json", **SWITCH, help="print JSON, which `keras-elmo plot probe` reads, and not a table"
    )


def _show(options, task, rows, data, metric):
    """Prints the rows of a probe, in which `data` is the key of what was tested."""
    if options.json:
        model = os.path.basename(os.path.normpath(options.model))
        print(json.dumps({"model": model, "task": task, "metric": metric, "rows": rows}, indent=1))
        return
    names = list(dict.fromkeys(row["vectors"] for row in rows))
    scores = {}
    for row in rows:
        scores.setdefault(row[data], []).append(f"{100 * row[metric]:.1f}")
    metric_name = "F1" if metric == "f1" else metric
    lines = [[f"{metric_name} (%)", *names], *([name, *row] for name, row in scores.items())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for name, *values in lines:
        cells = (f"{value:>{width}}" for value, width in zip(values, widths[1:], strict=True))
        print("  ".join([f"{name:<{widths[0]}}", *cells]))
    for row in rows:
        if "mix weights" in row:
            weights = "  ".join(f"{weight:.2f}" for weight in row["mix weights"])
            print(f"weights of the layers in the mix: {weights}")
            break
