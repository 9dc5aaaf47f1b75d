"""`keras-elmo projector`: vectors for TensorBoard's projector."""

import sys

from keras_elmo_cli.arguments import add_occurrence_arguments, add_text_argument, find
from keras_elmo_cli.parsing import pluralize

HELP = "write vectors that TensorBoard's projector shows"
DESCRIPTION = (
    "Writes the vectors of words in a text, or of all its tokens, to a folder which "
    "`tensorboard --logdir FOLDER` shows under Projector, one tensor for each layer."
)
EXAMPLES = (
    "keras-elmo projector sentences.txt bank -m tiny -o vectors",
    "keras-elmo projector sentences.txt bank -m tiny -o vectors --senses senses.txt",
)


def add_arguments(parser):
    parser.set_defaults(input_names=("file", "senses"))
    add_text_argument(parser, has_senses=True)
    parser.add_argument("words", nargs="*", metavar="WORD", help="tokens; without any, all tokens")
    parser.add_argument("-o", "--output", required=True, metavar="FOLDER", help="what to write")
    parser.add_argument(
        "--tsv",
        action="store_true",
        help="write text files, as https://projector.tensorflow.org takes them",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing folder")
    add_occurrence_arguments(parser)


def run(options):
    from keras_elmo.analysis.projector import check_folder, write_projector

    check_folder(options.output, options.overwrite)
    found, layers, labels = find(options, options.words or None)
    write_projector(found, options.output, layers, labels, options.tsv, options.overwrite)
    if not options.quiet:
        tokens = pluralize(len(found), "occurrence")
        print(
            f"{options.output}: {tokens}. To see them: tensorboard --logdir {options.output}",
            file=sys.stderr,
        )
