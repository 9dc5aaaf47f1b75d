"""`keras-elmo evaluate`: the perplexity of text files."""

import sys
import time

from keras_elmo.cli import model
from keras_elmo.quiet import hide_tensorflow_log

HELP = "measure the perplexity of text files"
DESCRIPTION = (
    "Measures the perplexity that a biLM gives to text files (a sentence a line, tokens parted by "
    "spaces; *.gz too), by the full softmax. Of a stream of sentences each lane carries its LSTM "
    "state on, so the figure depends a little on the batch size."
)


def add_arguments(parser):
    parser.add_argument(
        "model", metavar="MODEL", help="a folder of `keras-elmo train`, or a checkpoint's"
    )
    parser.add_argument("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_argument("--vocab", metavar="FILE", help="where MODEL has no vocab.txt")
    parser.add_argument("--batch-size", type=int, default=32, metavar="N", help="lanes (32)")
    parser.add_argument(
        "--unroll-steps",
        type=int,
        default=20,
        metavar="N",
        help="tokens of a lane read at a time (20)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    model.import_elmo()
    with hide_tensorflow_log():
        from keras_elmo import training
        from keras_elmo.checks import check_integers
        from keras_elmo.models import BiLanguageModel

    check_integers(1, batch_size=options.batch_size, unroll_steps=options.unroll_steps)
    corpus = training.Corpus(options.files)
    corpus.counts()  # every line is read and checked before hours are spent
    bilm = BiLanguageModel.from_pretrained(options.model, options.vocab)
    progress = _Progress()
    result = training.evaluate(
        bilm,
        corpus.sentences(),
        options.batch_size,
        options.unroll_steps,
        None if options.quiet else progress,
    )
    progress.end()
    print(
        f"perplexity {result['perplexity']:.3f} (forward {result['forward']:.3f}, backward "
        f"{result['backward']:.3f}), {result['predictions']:,} predictions"
    )


class _Progress:
    """The number of predictions so far, on one line of a terminal."""

    def __init__(self):
        self.count, self.shown = 0, 0.0

    def __call__(self, number):
        self.count += number
        if sys.stderr.isatty() and time.monotonic() > self.shown + 0.5:
            self.shown = time.monotonic()
            print(f"\r{self.count:,} predictions", end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
