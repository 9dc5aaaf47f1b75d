"""`keras-elmo plot`: pictures."""

import glob
import json
import os
import pathlib
import sys

from keras_elmo_cli.arguments import (
    add_layers_argument,
    add_model_arguments,
    add_occurrence_arguments,
    add_text_argument,
    check_overwrite,
    find,
    load_elmo_and_layers,
)
from keras_elmo_cli.parsing import Subcommand, add_commands
from keras_elmo_cli.reading import read_records

HELP = "draw vectors, mixes, probes and trainings"
DESCRIPTION = "Draws a picture: PNG, 800 pixels wide, or SVG."
EXAMPLES = (
    "keras-elmo plot word bank sentences.txt -m tiny -o bank.png",
    "keras-elmo plot training my-elmo -o training.svg",
)
_MAX_SENTENCES = 1000  # of the text: more do not change its mean visibly
_PROBE_TITLES = {
    "tags": "tags, by a linear classifier",
    "senses": "senses, by the nearest sense vector",
}


def add_arguments(parser):
    add_commands(parser, "PICTURE", PICTURES)


def _add_picture_arguments(parser):
    parser.add_argument("-o", "--output", required=True, help="the picture: *.png or *.svg")
    parser.add_argument("--title", help="what stands above the picture")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing picture")


def _check_output(options):
    """Refuses what cannot be written, before anything is computed."""
    from keras_elmo.analysis.plot import check_matplotlib, check_picture

    check_matplotlib()
    check_picture(options.output)
    check_overwrite(options.output, options.overwrite)


def _write(options, figure):
    from keras_elmo.analysis.plot import save_figure

    save_figure(figure, options.output)
    if not getattr(options, "quiet", False):
        print(options.output, file=sys.stderr)


# The occurrences of a word


def _add_word_arguments(parser):
    parser.set_defaults(input_names=("file", "senses"))
    parser.add_argument("word", metavar="WORD", help="a token")
    add_text_argument(parser, has_senses=True)
    parser.add_argument(
        "--tsne",
        action="store_true",
        help="t-SNE in the place of principal components (needs scikit-learn)",
    )
    _add_picture_arguments(parser)
    add_occurrence_arguments(parser)


def _run_word(options):
    from keras_elmo.analysis.plot import plot_word

    _check_output(options)
    found, layers, labels = find(options, options.word)
    method = "tsne" if options.tsne else "pca"
    title = options.title or f"{options.word}: {len(found):,} occurrences"
    _write(options, plot_word(found.vectors, labels, layers, method, title))


# The cosines between two sentences


def _add_cosines_arguments(parser):
    parser.set_defaults(input_names=("text",))
    parser.add_argument("sentence", metavar="SENTENCE", help="its tokens are the rows")
    parser.add_argument("other", metavar="OTHER", help="another one, whose tokens are the columns")
    parser.add_argument(
        "--text",
        metavar="FILE",
        help=f"a text, one sentence a line, whose first {_MAX_SENTENCES:,} sentences give the "
        "mean vector. Without it the two sentences do, which is a rougher mean",
    )
    add_layers_argument(parser)
    _add_picture_arguments(parser)
    add_model_arguments(parser)


def _run_cosines(options):
    from keras_elmo.analysis.plot import plot_cosines

    _check_output(options)
    text = list(read_records(options, options.text))[:_MAX_SENTENCES] if options.text else None
    elmo, layers = load_elmo_and_layers(options)
    pair = [options.sentence, options.other]
    tokens, other_tokens = elmo.tokenize(pair)
    vectors, others = elmo.embed(pair, layers="all")
    mean = _mean(elmo.embed_stream(text or pair, layers="all", progress=not options.quiet))
    figure = plot_cosines(
        vectors, tokens, others, other_tokens, mean, layers, options.title or "cosines of tokens"
    )
    _write(options, figure)


def _mean(arrays):
    """The mean vector of all tokens, (layers, D)."""
    import numpy as np

    total, count = 0.0, 0
    for array in arrays:
        total, count = total + array.sum(axis=1, dtype=np.float64), count + array.shape[1]
    if not count:
        raise ValueError("The text of --text must have tokens. Received: a text without any")
    return total / count


# The mixes of Keras models


def _add_mix_arguments(parser):
    parser.set_defaults(input_names=("models",))
    parser.add_argument(
        "models", nargs="+", metavar="MODEL", help="a *.keras file, or a folder of such files"
    )
    _add_picture_arguments(parser)


def _run_mix(options):
    import keras

    from keras_elmo.analysis.plot import mix_weights, plot_mix
    from keras_elmo.tasks.pretrained import load_keras_model

    _check_output(options)
    files = [file for model in options.models for file in _keras_files(model)]
    mixes = {}
    for file in files:
        weights = mix_weights(load_keras_model(file, keras.Model))
        model = os.path.splitext(os.path.basename(file))[0]
        for name, values in weights.items():
            key = model if len(weights) == 1 else f"{model}, {name}"
            mixes[key if key not in mixes else f"{file}, {name}"] = values
    _write(options, plot_mix(mixes, options.title or "weights of the layers"))


def _keras_files(model):
    if not os.path.isdir(model):
        return [model]
    files = sorted(glob.glob(os.path.join(glob.escape(model), "*.keras")))
    if not files:
        raise FileNotFoundError(f"{model} must be a *.keras file, or hold such files")
    return files


# The scores of probes


def _add_probe_arguments(parser):
    parser.set_defaults(input_names=("files",))
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="what `keras-elmo probe --json` printed"
    )
    _add_picture_arguments(parser)


def _run_probe(options):
    from keras_elmo.analysis.plot import plot_probe

    _check_output(options)
    results = [_read_probe(file) for file in options.files]
    title = options.title or _PROBE_TITLES[results[0]["task"]]
    _write(options, plot_probe(results, title))


def _read_probe(file):
    try:
        result = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        names = {"vectors", "word" if result["task"] == "senses" else "test"}
        is_probe = isinstance(result["model"], str) and result["task"] in _PROBE_TITLES
        for row in result["rows"]:
            float(row[result["metric"]])
            is_probe = is_probe and names <= row.keys()
        if is_probe and result["rows"]:
            return result
        reason = "JSON without the rows of a probe"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = error
    raise ValueError(f"{file} must be what `keras-elmo probe --json` printed. Received: {reason}")


# The curves of trainings


def _add_training_arguments(parser):
    parser.set_defaults(input_names=("folders",))
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of `keras-elmo train`")
    _add_picture_arguments(parser)


def _run_training(options):
    from keras_elmo.analysis.plot import plot_training
    from keras_elmo.training.events import read_event_log

    _check_output(options)
    names = [os.path.basename(os.path.normpath(folder)) for folder in options.folders]
    if len(set(names)) < len(names):
        names = options.folders
    runs = {
        name: read_event_log(folder) for name, folder in zip(names, options.folders, strict=True)
    }
    _write(options, plot_training(runs, options.title))


PICTURES = [
    Subcommand(
        "word",
        "the occurrences of a word in the plane, coloured by sense",
        "Draws the vectors of a word's occurrences in a text, by their first two principal "
        "components, one panel for each layer. Where senses are given, each has a colour and a "
        "marker.",
        EXAMPLES[:1] + ("keras-elmo plot word java coarse-wsd-20/java -m tiny -o java.png --tsne",),
        _add_word_arguments,
        _run_word,
    ),
    Subcommand(
        "cosines",
        "the cosines between the tokens of two sentences",
        "Draws the cosines between the tokens of two sentences, one panel for each layer, after "
        "the mean vector of a text is subtracted: without that, all cosines are high.",
        (
            "keras-elmo plot cosines 'the cat sat' 'a dog ran' -m tiny -o cosines.png",
            "keras-elmo plot cosines 'a cat' 'a dog' -m tiny -o a.png --text sentences.txt",
        ),
        _add_cosines_arguments,
        _run_cosines,
    ),
    Subcommand(
        "mix",
        "the weights of the layers in trained mixes",
        "Draws the weights that each ScalarMix of one or several trained Keras models has.",
        (
            "keras-elmo plot mix reviews.keras -o mix.png",
            "keras-elmo plot mix models -o mix.svg --title 'Two tasks'",
        ),
        _add_mix_arguments,
        _run_mix,
    ),
    Subcommand(
        "probe",
        "the scores of a probe for each layer",
        "Draws what `keras-elmo probe --json` printed, of one or several models, as bars.",
        (
            "keras-elmo plot probe tags.json -o tags.png",
            "keras-elmo plot probe tiny.json original.json -o tags.svg",
        ),
        _add_probe_arguments,
        _run_probe,
    ),
    Subcommand(
        "training",
        "the curves of trainings",
        "Draws the training loss and the perplexity of held-out text, from the logs of one or "
        "several folders of `keras-elmo train`.",
        EXAMPLES[1:] + ("keras-elmo plot training run-1 run-2 -o training.png",),
        _add_training_arguments,
        _run_training,
    ),
]
