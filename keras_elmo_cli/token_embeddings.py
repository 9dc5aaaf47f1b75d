"""`keras-elmo token-embeddings`: a vocabulary to its token embeddings."""

import sys

from keras_elmo_cli.arguments import (
    MODEL_HELP,
    check_output,
    is_same_file,
    load_elmo,
)
from keras_elmo_cli.lines import add_encoding_arguments
from keras_elmo_cli.parsing import pluralize
from keras_elmo.training import dump_token_embeddings
from keras_elmo.training.vocabulary import Vocabulary

HELP = "write the token embeddings of a vocabulary"
DESCRIPTION = (
    "Writes the token embeddings of a vocabulary (a word a line, with <S>, </S> and <UNK>) as "
    "bilm-tf's `dump_token_embeddings` does: HDF5 with one dataset `embedding`, float32, (words, "
    "D), whose rows are those of the vocabulary. The originals take it as embedding_weight_file."
)
EXAMPLES = (
    "keras-elmo token-embeddings vocab.txt -m tiny -o tokens.hdf5",
    "keras-elmo token-embeddings vocab.txt -m original -o tokens.h5 --overwrite",
)


def add_arguments(parser):
    parser.add_argument("vocabulary", metavar="VOCAB", help="a text file, a word a line")
    add_encoding_arguments(parser)
    parser.add_argument("-o", "--output", required=True, help="the file to write: *.hdf5 or *.h5")
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when it is done")


def run(options):
    if not options.output.endswith((".hdf5", ".h5")):
        raise ValueError(
            f"The output must be named *.hdf5 or *.h5. Received: --output {options.output}"
        )
    if is_same_file(options.vocabulary, options.output):
        raise ValueError(
            f"The output must not be the vocabulary. Received: {options.output} for both"
        )
    check_output(options.output, options.model, options.overwrite)
    vocabulary = Vocabulary(options.vocabulary, options.encoding, options.errors)
    elmo = load_elmo(options)
    count = dump_token_embeddings(elmo, vocabulary, options.output)
    if not options.quiet:
        print(f"{options.output}: {pluralize(count, 'word')}", file=sys.stderr)
