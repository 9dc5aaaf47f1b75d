"""`keras-elmo plot mix`: the weights of the layers in trained mixes."""

import glob
import os

import keras

from keras_elmo.analysis.plot import mix_weights, plot_mix
from keras_elmo.cli.plot.picture import (
    add_picture_arguments,
    check_picture_arguments,
    write_picture,
)

HELP = "the weights of the layers in trained mixes"
DESCRIPTION = "Draws the weights that each ScalarMix of one or several trained Keras models has."


def add_arguments(parser):
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="a *.keras file, or a folder of such files"
    )
    add_picture_arguments(parser)


def run(options):
    check_picture_arguments(options)
    files = [file for model in options.models for file in _files(model)]
    mixes = {}
    for file in files:
        weights = mix_weights(_load(file))
        model = os.path.splitext(os.path.basename(file))[0]
        for name, values in weights.items():
            key = model if len(weights) == 1 else f"{model}, {name}"
            mixes[key if key not in mixes else f"{file}, {name}"] = values
    write_picture(options, plot_mix(mixes, options.title or "weights of the layers"))


def _files(model):
    if not os.path.isdir(model):
        return [model]
    files = sorted(glob.glob(os.path.join(glob.escape(model), "*.keras")))
    if not files:
        raise FileNotFoundError(f"{model} must be a *.keras file, or hold such files")
    return files


def _load(file):
    open(file, "rb").close()  # where it may not be read, Python says so best
    try:
        return keras.models.load_model(file, compile=False)
    except Exception as error:  # Keras has many, of many lines
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{file} cannot be loaded as a Keras model. ({reason[:200]})") from None
