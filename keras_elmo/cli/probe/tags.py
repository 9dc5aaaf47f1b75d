"""`keras-elmo probe tags`: a linear classifier of tags, on each layer."""

from keras_elmo.analysis import probing
from keras_elmo.analysis.annotated_files import TAG_COLUMNS, read_conllu
from keras_elmo.cli.model_argument import MODEL_HELP, open_model
from keras_elmo.cli.probe.report import add_report_arguments, report
from keras_elmo.models import Elmo

HELP = "tags in CoNLL-U: the accuracy of a linear classifier"
DESCRIPTION = (
    "Trains a logistic regression from the vectors of words to their tags, for each layer and for "
    "the learned mix of all layers, and shows its accuracy on test files, in percent. Beside it "
    "stands the accuracy of each word's most frequent tag, which no context helps."
)


def add_arguments(parser):
    parser.add_argument("train", metavar="TRAIN", help="a CoNLL-U file")
    parser.add_argument("tests", nargs="+", metavar="TEST", help="CoNLL-U files")
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    parser.add_argument(
        "--column",
        default="upos",
        choices=list(TAG_COLUMNS),
        help="which tags to probe: parts of speech (upos, the default, or xpos, the language's "
        "own), or the relation to the head (deprel)",
    )
    add_report_arguments(parser)


def run(options):
    probing.check_scikit_learn()
    for path in (options.train, *options.tests):  # before a model is loaded
        read_conllu(path, options.column)
    with open_model(options.model) as (_, _, source):
        elmo = Elmo.from_pretrained(source, tokenizer=None)
    tests = {path: path for path in options.tests}
    rows = probing.probe_tags(elmo, options.train, tests, options.column, not options.quiet)
    report(options, "tags", rows, "test", "accuracy")
