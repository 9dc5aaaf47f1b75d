"""`keras-elmo plot word`: the occurrences of a word in the plane."""

from keras_elmo.analysis.plot import plot_word
from keras_elmo.cli.occurrence_arguments import (
    add_layers_argument,
    add_occurrence_arguments,
    add_senses_argument,
    find,
    layers_as_typed,
    load_model,
    read_sentences_and_senses,
)
from keras_elmo.cli.plot.picture import (
    add_picture_arguments,
    check_picture_arguments,
    write_picture,
)

HELP = "the occurrences of a word in the plane, coloured by sense"
DESCRIPTION = (
    "Draws the vectors of a word's occurrences in a text, by their first two principal components, "
    "one panel for each layer. Where senses are given, each has a colour and a marker."
)


def add_arguments(parser):
    parser.add_argument("word", metavar="WORD", help="a token")
    add_senses_argument(parser)
    parser.add_argument(
        "--tsne",
        action="store_true",
        help="t-SNE in the place of principal components (needs scikit-learn)",
    )
    add_layers_argument(parser)
    add_picture_arguments(parser)
    add_occurrence_arguments(parser)


def run(options):
    check_picture_arguments(options)
    sentences, senses = read_sentences_and_senses(options)
    elmo, layers = load_model(options, lambda config: layers_as_typed(options.layers, config))
    found = find(options, options.word, sentences, elmo)
    labels = None if senses is None else [senses[number - 1] for number in found.line_numbers]
    method = "tsne" if options.tsne else "pca"
    title = options.title or f"{options.word}: {len(found):,} occurrences"
    write_picture(options, plot_word(found.vectors, labels, layers, method, title))
