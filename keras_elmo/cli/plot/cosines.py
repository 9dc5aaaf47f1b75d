"""`keras-elmo plot cosines`: the cosines between the tokens of two sentences."""

import numpy as np

from keras_elmo.analysis.plot import plot_cosines
from keras_elmo.cli.occurrence_arguments import (
    add_layers_argument,
    add_model_arguments,
    layers_as_typed,
    load_model,
    read_lines,
)
from keras_elmo.cli.plot.picture import (
    add_picture_arguments,
    check_picture_arguments,
    write_picture,
)

HELP = "the cosines between the tokens of two sentences"
DESCRIPTION = (
    "Draws the cosines between the tokens of two sentences, one panel for each layer, after the "
    "mean vector of a text is subtracted: without that, all cosines are high."
)
_MOST_SENTENCES = 1000  # of the text: more do not change its mean visibly


def add_arguments(parser):
    parser.add_argument("sentence", metavar="SENTENCE", help="its tokens are the rows")
    parser.add_argument("other", metavar="OTHER", help="another one, whose tokens are the columns")
    parser.add_argument(
        "--text",
        metavar="FILE",
        help=f"a text, one sentence a line, whose first {_MOST_SENTENCES:,} sentences give the "
        "mean vector. Without it the two sentences do, which is a rougher mean",
    )
    add_layers_argument(parser)
    add_picture_arguments(parser)
    add_model_arguments(parser)


def run(options):
    check_picture_arguments(options)
    text = read_lines(options, options.text)[:_MOST_SENTENCES] if options.text else None
    elmo, layers = load_model(options, lambda config: layers_as_typed(options.layers, config))
    pair = [options.sentence, options.other]
    tokens, other_tokens = elmo.tokenize(pair)
    vectors, others = elmo.embed(pair, layers="all")
    mean = _mean(elmo.embed_stream(text or pair, layers="all", progress=not options.quiet))
    figure = plot_cosines(
        vectors, tokens, others, other_tokens, mean, layers, options.title or "cosines of tokens"
    )
    write_picture(options, figure)


def _mean(arrays):
    """The mean vector of all tokens, (layers, D)."""
    total, count = 0.0, 0
    for array in arrays:
        total, count = total + array.sum(axis=1, dtype=np.float64), count + array.shape[1]
    if not count:
        raise ValueError("The text of --text must have tokens. Received: a text without any")
    return total / count
