"""Make the vocabulary of text files.

Counts the words of text files (a sentence a line, tokens separated by spaces; *.gz too) and writes
a word a line: <S>, </S>, <UNK>, then the words, the most frequent first.

    keras-elmo vocabulary 'texts/*.txt.gz' -o vocab.txt --min-count 3
    keras-elmo vocabulary train.txt -o vocab.txt --size 50000
"""

from keras_elmo_cli.inputs import pluralize, reading_bar, report
from keras_elmo_cli.options import COUNT, DECODING


def add_arguments(parser):
    parser.add_input("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_output(metavar="FILE", help="the file to write")
    parser.add_argument(
        "--min-count", **COUNT, default=1, help="leave out what is rarer (%(default)s)"
    )
    parser.add_argument("--size", **COUNT, help="words at most")
    parser.add_shared(*DECODING, "--quiet")


def run(options):
    from keras_elmo.training import Corpus, build_vocabulary

    corpus = Corpus(options.files)
    with reading_bar(options, corpus.files) as bar:
        words, share = build_vocabulary(
            corpus.files,
            options.output,
            options.min_count,
            options.size,
            bar.update,
            options.encoding,
            options.errors,
        )
    report(options, f"{options.output}: {pluralize(words, 'word')}, {share:.1%} of the text")
