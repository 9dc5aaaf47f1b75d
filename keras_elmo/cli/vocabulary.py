"""`keras-elmo vocabulary`: text files to the words that a biLM is to predict."""

import sys

from keras_elmo.quiet import hide_tensorflow_log

HELP = "make the vocabulary of text files"
DESCRIPTION = (
    "Counts the words of text files (a sentence a line, tokens parted by spaces; *.gz too) and "
    "writes a word a line: <S>, </S>, <UNK>, then the words, the most frequent first."
)


def add_arguments(parser):
    parser.add_argument("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--min-count", type=int, default=1, metavar="N", help="leave out what is rarer (1)"
    )
    parser.add_argument("--size", type=int, metavar="N", help="words at most")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when it is done")


def run(options):
    with hide_tensorflow_log():
        from keras_elmo.training import build_vocabulary

    words, share = build_vocabulary(options.files, options.output, options.min_count, options.size)
    if not options.quiet:
        print(f"{options.output}: {words:,} words, {share:.1%} of the text", file=sys.stderr)
