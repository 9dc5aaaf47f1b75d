"""The file of a picture."""

import os
import sys

from keras_elmo.analysis.plot import check_matplotlib, check_picture, save_figure
from keras_elmo.cli.output_file import check_overwrite


def add_picture_arguments(parser, title=None):
    """Adds the options of the file, and of what stands above the picture."""
    parser.add_argument("-o", "--output", required=True, help="the picture: *.png or *.svg")
    parser.add_argument("--title", default=title, help="what stands above the picture")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing picture")


def check_picture_arguments(options):
    """Refuses what cannot be written, before anything is computed."""
    check_matplotlib()
    check_picture(options.output)
    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"{folder} must be an existing folder. Received: {options.output}")
    check_overwrite(options.output, options.overwrite)


def write_picture(options, figure):
    """Writes the figure to the file, and says so."""
    save_figure(figure, options.output)
    if not getattr(options, "quiet", False):
        print(options.output, file=sys.stderr)
