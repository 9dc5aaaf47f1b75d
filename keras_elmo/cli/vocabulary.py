"""`keras-elmo vocabulary`: text files to the words that a biLM is to predict."""

import sys

from keras_elmo.checks import check_integers
from keras_elmo.cli import model
from keras_elmo.cli.progress import reading
from keras_elmo.cli.wording import counted
from keras_elmo.quiet import hide_tensorflow_log

HELP = "make the vocabulary of text files"
DESCRIPTION = (
    "Counts the words of text files (a sentence a line, tokens separated by spaces; *.gz too) and "
    "writes a word a line: <S>, </S>, <UNK>, then the words, the most frequent first."
)


def add_arguments(parser):
    parser.add_argument("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--min-count", type=int, default=1, metavar="N", help="leave out what is rarer (1)"
    )
    parser.add_argument("--size", type=int, metavar="N", help="words at most")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    from keras_elmo.training.corpus import Corpus

    check_integers(1, min_count=options.min_count)
    corpus = Corpus(options.files)
    if any(model.is_same(options.output, file) for file in corpus.files):
        raise ValueError(
            f"The vocabulary must be written to a file of its own. Received: {options.output}"
        )
    model.check_overwrite(options.output, options.overwrite)
    with hide_tensorflow_log():
        from keras_elmo.training import build_vocabulary

    with reading(corpus.files, not options.quiet) as progress:
        words, share = build_vocabulary(
            corpus.files, options.output, options.min_count, options.size, progress
        )
    if not options.quiet:
        line = f"{options.output}: {counted(words, 'word')}, {share:.1%} of the text"
        print(line, file=sys.stderr)
