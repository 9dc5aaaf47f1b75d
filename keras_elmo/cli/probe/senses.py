"""`keras-elmo probe senses`: the nearest sense vector, on each layer."""

from keras_elmo.analysis import probing
from keras_elmo.cli.model_argument import MODEL_HELP, open_model
from keras_elmo.cli.probe.report import add_report_arguments, report
from keras_elmo.models import Elmo

HELP = "word senses: the F1 of the nearest sense vector"
DESCRIPTION = (
    "Gives an ambiguous word the sense whose mean vector over the training sentences is nearest, "
    "for each layer and for the average of all layers, and shows the macro F1 in percent. Beside "
    "it stands the F1 of the most frequent sense."
)


def add_arguments(parser):
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        help="like CoarseWSD-20's: train.data.txt, train.gold.txt, test.data.txt, test.gold.txt; "
        "or a folder of such folders, one a word",
    )
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    add_report_arguments(parser)


def run(options):
    probing.check_scikit_learn()
    probing.sense_folders(options.folder)  # before a model is loaded
    with open_model(options.model) as (_, _, source):
        elmo = Elmo.from_pretrained(source, tokenizer=None)
    rows = probing.probe_senses(elmo, options.folder, not options.quiet)
    report(options, "senses", rows, "word", "f1")
