"""Make the vocabulary of text files.

Counts the words of text files (a sentence a line; *.gz too) and writes a word a line: <S>, </S>,
<UNK>, then the words, the most frequent first.

    keras-elmo vocabulary 'texts/*.txt.gz' -o vocab.txt --min-count 3
    keras-elmo vocabulary train.txt -o vocab.txt --size 50000
"""

from keras_elmo_cli.inputs import pluralize, read_corpus, reading_bar, report
from keras_elmo_cli.options import COUNT, add_corpus_arguments


def add_arguments(parser):
    parser.add_input("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_output(metavar="FILE", help="the file to write")
    help = "leave out what is rarer (%(default)s)"
    parser.add_argument("--min-count", **COUNT, default=1, help=help)
    parser.add_argument("--size", **COUNT, help="words at most")
    add_corpus_arguments(parser)
    parser.add_shared("--quiet")


def run(options):
    from keras_elmo.training import build_vocabulary

    corpus = read_corpus(options, options.files)
    with reading_bar(options, corpus.files) as bar:
        words, share = build_vocabulary(
            corpus, options.output, options.min_count, options.size, bar.update
        )
    report(options, f"{options.output}: {pluralize(words, 'word')}, {share:.1%} of the text")
