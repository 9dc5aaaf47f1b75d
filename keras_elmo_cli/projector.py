"""Write vectors that TensorBoard's projector shows.

Writes the vectors of words in a text, or of all its tokens, to a folder which `tensorboard --logdir
FOLDER` shows under Projector, one tensor for each layer.

    keras-elmo projector sentences.txt bank -m tiny -o vectors
    keras-elmo projector sentences.txt bank -m tiny -o vectors --senses senses.txt
"""

from keras_elmo_cli.inputs import find_words, pluralize, report
from keras_elmo_cli.options import SWITCH, add_occurrence_arguments


def add_arguments(parser):
    add_occurrence_arguments(parser, has_senses=True)
    parser.add_argument("words", nargs="*", metavar="WORD", help="tokens; without any, all tokens")
    parser.add_shared("--output", metavar="FOLDER", help="what to write")
    parser.add_argument(
        "--tsv", **SWITCH, help="write text files, as https://projector.tensorflow.org takes them"
    )
    parser.add_shared("--overwrite")


def run(options):
    from keras_elmo.analysis.projector import check_folder, write_projector

    check_folder(options.output, options.overwrite)
    found, layers, labels = find_words(options, options.words or None)
    write_projector(found, options.output, layers, labels, options.tsv, options.overwrite)
    tokens = pluralize(len(found), "occurrence")
    hint = f"To see them: tensorboard --logdir {options.output}"
    report(options, f"{options.output}: {tokens}. {hint}")
