"""`keras-elmo plot probe`: the scores of a probe as bars."""

import json
import pathlib

from keras_elmo.analysis.plot import plot_probe
from keras_elmo.cli.plot.picture import (
    add_picture_arguments,
    check_picture_arguments,
    write_picture,
)

HELP = "the scores of a probe for each layer"
DESCRIPTION = "Draws what `keras-elmo probe --json` printed, of one or several models, as bars."


def add_arguments(parser):
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="what `keras-elmo probe --json` printed"
    )
    add_picture_arguments(parser)


def run(options):
    check_picture_arguments(options)
    results = [_read(file) for file in options.files]
    write_picture(options, plot_probe(results, options.title or _TITLES[results[0]["task"]]))


_TITLES = {"tags": "tags, by a linear classifier", "senses": "senses, by the nearest sense vector"}


def _read(file):
    try:
        result = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        if not result["rows"] or result["task"] not in _TITLES:
            raise ValueError("no rows of a known probe")
        for row in result["rows"]:
            row["vectors"], row[result["metric"]] + 0.0, row["word" if "word" in row else "test"]
        result["model"]
        return result
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{file} must be what `keras-elmo probe --json` printed. ({error})"
        ) from None
