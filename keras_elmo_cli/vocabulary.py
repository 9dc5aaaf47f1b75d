"""`keras-elmo vocabulary`: text files to the words that a biLM is to predict."""

import sys

from keras_elmo_cli.arguments import check_overwrite, reading_bar
from keras_elmo_cli.parsing import pluralize
from keras_elmo_cli.reading import add_encoding_arguments

HELP = "make the vocabulary of text files"
DESCRIPTION = (
    "Counts the words of text files (a sentence a line, tokens separated by spaces; *.gz too) and "
    "writes a word a line: <S>, </S>, <UNK>, then the words, the most frequent first."
)
EXAMPLES = (
    "keras-elmo vocabulary 'texts/*.txt.gz' -o vocab.txt --min-count 3",
    "keras-elmo vocabulary train.txt -o vocab.txt --size 50000",
)


def add_arguments(parser):
    parser.set_defaults(input_names=("files",))
    parser.add_argument("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--min-count",
        type=int,
        default=1,
        metavar="N",
        help="leave out what is rarer (%(default)s)",
    )
    parser.add_argument("--size", type=int, metavar="N", help="words at most")
    add_encoding_arguments(parser)
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    from keras_elmo.training import Corpus, build_vocabulary

    corpus = Corpus(options.files)
    check_overwrite(options.output, options.overwrite)
    with reading_bar(corpus.files, not options.quiet) as bar:
        words, share = build_vocabulary(
            corpus.files,
            options.output,
            options.min_count,
            options.size,
            bar.update,
            options.encoding,
            options.errors,
        )
    if not options.quiet:
        line = f"{options.output}: {pluralize(words, 'word')}, {share:.1%} of the text"
        print(line, file=sys.stderr)
