"""`keras-elmo plot training`: the curves of trainings."""

import os

from keras_elmo.analysis.plot import plot_training
from keras_elmo.cli.plot.picture import (
    add_picture_arguments,
    check_picture_arguments,
    write_picture,
)
from keras_elmo.training.events import read_event_log

HELP = "the curves of trainings"
DESCRIPTION = (
    "Draws the training loss and the perplexity of held-out text, from the logs of one or several "
    "folders of `keras-elmo train`."
)


def add_arguments(parser):
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of `keras-elmo train`")
    add_picture_arguments(parser)


def run(options):
    check_picture_arguments(options)
    names = [os.path.basename(os.path.normpath(folder)) for folder in options.folders]
    if len(set(names)) < len(names):
        names = options.folders
    runs = {
        name: read_event_log(folder) for name, folder in zip(names, options.folders, strict=True)
    }
    write_picture(options, plot_training(runs, options.title))
