"""Draw vectors, mixes and probes.

Draws a picture: PNG, 800 pixels wide, or SVG.
"""

import glob
import json
import os
import pathlib

from keras_elmo_cli import inputs
from keras_elmo_cli.options import READING, SWITCH, add_commands, add_occurrence_arguments

_MAX_SENTENCES = 1000  # of the text: more do not change its mean visibly
_PROBE_TITLES = {
    "tags": "tags, by a linear classifier",
    "senses": "senses, by the nearest sense vector",
}


def add_arguments(parser):
    pictures = {
        "word": _picture(_add_word_arguments, _draw_word),
        "cosines": _picture(_add_cosines_arguments, _draw_cosines),
        "mix": _picture(_inputs("MODEL", "a *.keras file, or a folder of such files"), _draw_mix),
        "probe": _picture(_inputs("FILE", "what `keras-elmo probe --json` printed"), _draw_probe),
    }
    add_commands(parser, pictures)


def _picture(add_input_arguments, draw):
    """A subcommand that writes the figure of `draw`, a function of the parsed options."""

    def add_arguments(parser):
        add_input_arguments(parser)
        parser.add_output(suffixes=(".png", ".svg"), help="the picture: *.png or *.svg")
        parser.add_argument("--title", help="what stands above the picture")
        parser.libraries = [("matplotlib", "Matplotlib", "plot")]

    def run(options):
        from keras_elmo.analysis.plot import save_figure

        save_figure(draw(options), options.output)
        inputs.report(options, options.output)

    return draw.__doc__, add_arguments, run


def _inputs(metavar, help):
    """A function that makes a parser take one or several files, `options.files`."""
    return lambda parser: parser.add_input("files", nargs="+", metavar=metavar, help=help)


def _add_word_arguments(parser):
    parser.add_argument("word", metavar="WORD", help="a token")
    add_occurrence_arguments(parser, has_senses=True)
    parser.add_argument(
        "--tsne", **SWITCH, help="t-SNE in the place of principal components (needs scikit-learn)"
    )


def _draw_word(options):
    """The occurrences of a word in the plane, coloured by sense.

    Draws the vectors of a word's occurrences in a text, by their first two principal components,
    one panel for each layer. Where senses are given, each has a colour and a marker.

        keras-elmo plot word bank sentences.txt -m tiny -o bank.png
        keras-elmo plot word java coarse-wsd-20/java -m tiny -o java.png --tsne
    """
    from keras_elmo.analysis.plot import plot_word

    found, layers, labels = inputs.find_words(options, options.word)
    title = options.title or f"{options.word}: {len(found):,} occurrences"
    return plot_word(found.vectors, labels, layers, "tsne" if options.tsne else "pca", title)


def _add_cosines_arguments(parser):
    parser.add_argument("sentence", metavar="SENTENCE", help="its tokens are the rows")
    parser.add_argument("other", metavar="OTHER", help="another one, whose tokens are the columns")
    parser.add_input(
        "--text",
        metavar="FILE",
        help=f"a text, one sentence a line, whose first {_MAX_SENTENCES:,} sentences give the "
        "mean vector. Without it the two sentences do, which is a rougher mean",
    )
    parser.add_shared("--layers", *READING, "--model", "--tokenizer", "--quiet")


def _draw_cosines(options):
    """The cosines between the tokens of two sentences.

    Draws the cosines between the tokens of two sentences, one panel for each layer, after the mean
    vector of a text is subtracted: without that, all cosines are high.

        keras-elmo plot cosines 'the cat sat' 'a dog ran' -m tiny -o cosines.png
        keras-elmo plot cosines 'a cat' 'a dog' -m tiny -o a.png --text sentences.txt
    """
    from keras_elmo.analysis.plot import plot_cosines

    text = (
        list(inputs.read_records(options, options.text))[:_MAX_SENTENCES] if options.text else None
    )
    elmo, pair = inputs.load_elmo(options), [options.sentence, options.other]
    layers = inputs.layer_numbers(options.layers, elmo.config)
    tokens, other_tokens = elmo.tokenize(pair)
    vectors, others = elmo.embed(pair, layers="all")
    mean = _mean(elmo.embed_stream(text or pair, layers="all", progress=not options.quiet))
    title = options.title or "cosines of tokens"
    return plot_cosines(vectors, tokens, others, other_tokens, mean, layers, title)


def _mean(arrays):
    """The mean vector of all tokens, (layers, D)."""
    import numpy as np

    total, count = 0.0, 0
    for array in arrays:
        total, count = total + array.sum(axis=1, dtype=np.float64), count + array.shape[1]
    if not count:
        raise ValueError("The text of --text must have tokens. Received: a text without any")
    return total / count


def _draw_mix(options):
    """The weights of the layers in trained mixes.

    Draws the weights of each ScalarMix that one or several trained Keras models read. (A classifier
    or tagger of `keras-elmo` reads all layers as they are, and no mix.)

        keras-elmo plot mix my-model.keras -o mix.png
        keras-elmo plot mix models -o mix.svg --title 'Two tasks'
    """
    import keras

    from keras_elmo.analysis.plot import mix_weights, plot_mix
    from keras_elmo.tasks.pretrained import load_task

    files = [file for model in options.files for file in _keras_files(model)]
    mixes = {}
    for file in files:
        weights = mix_weights(load_task(file, keras.Model))
        model = os.path.splitext(os.path.basename(file))[0]
        for name, values in weights.items():
            key = model if len(weights) == 1 else f"{model}, {name}"
            mixes[key if key not in mixes else f"{file}, {name}"] = values
    return plot_mix(mixes, options.title or "weights of the layers")


def _keras_files(model):
    if not os.path.isdir(model):
        return [model]
    if not (files := sorted(glob.glob(os.path.join(glob.escape(model), "*.keras")))):
        raise FileNotFoundError(f"{model} must be a *.keras file, or hold such files")
    return files


def _draw_probe(options):
    """The scores of a probe for each layer.

    Draws what `keras-elmo probe --json` printed, of one or several models, as bars.

        keras-elmo plot probe tags.json -o tags.png
        keras-elmo plot probe tiny.json original.json -o tags.svg
    """
    from keras_elmo.analysis.plot import plot_probe

    results = [_read_probe(file) for file in options.files]
    return plot_probe(results, options.title or _PROBE_TITLES[results[0]["task"]])


def _read_probe(file):
    try:
        result = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
        data, metric = {"tags": "test", "senses": "word"}[result["task"]], result["metric"]
        rows = [(row["vectors"], row[data], float(row[metric])) for row in result["rows"]]
        if rows and isinstance(result["model"], str):
            return result
        reason = "JSON without the rows of a probe"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = error
    raise ValueError(f"{file} must be what `keras-elmo probe --json` printed. Received: {reason}")
