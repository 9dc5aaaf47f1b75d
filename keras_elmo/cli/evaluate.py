"""`keras-elmo evaluate`: the perplexity of text files."""

import os
import sys
import time

from keras_elmo.checks import check_integers
from keras_elmo.cli import model
from keras_elmo.cli.progress import reading
from keras_elmo.cli.wording import counted
from keras_elmo.quiet import hide_tensorflow_log

HELP = "measure the perplexity of text files"
DESCRIPTION = (
    "Measures the perplexity that a biLM gives to text files (a sentence a line, tokens separated "
    "by spaces; *.gz too), by the full softmax. Of a stream of sentences each lane carries its "
    "LSTM state on, so the figure depends a little on the batch size. All "
    "words that the vocabulary does not have are one, which is easy to predict: compare models "
    "of the same share of unknown words."
)


def add_arguments(parser):
    parser.add_argument(
        "model", metavar="MODEL", help="a folder of `keras-elmo train`, or a checkpoint's"
    )
    parser.add_argument("files", nargs="+", metavar="FILES", help="text files, or patterns")
    parser.add_argument(
        "--vocab", dest="vocabulary", metavar="FILE", help="where MODEL has no vocab.txt"
    )
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
    from keras_elmo.training.corpus import Corpus

    check_integers(1, batch_size=options.batch_size, unroll_steps=options.unroll_steps)
    if not os.path.isdir(options.model):
        raise FileNotFoundError(
            f"There is no folder {options.model}; MODEL must be one that `keras-elmo train` wrote, "
            "or a checkpoint's"
        )
    own = os.path.join(options.model, "vocab.txt")
    if options.vocabulary or not os.path.isfile(own):
        if not options.vocabulary:
            raise FileNotFoundError(f"There is no {own}; name the vocabulary with --vocab")
        open(options.vocabulary, "rb").close()  # where it may not be read, Python says so best
    with model.opened(options.model):
        corpus = Corpus(options.files)
    with reading(corpus.files, not options.quiet) as progress:
        corpus.counts(progress)  # every line is read and checked before hours are spent
    model.import_elmo()
    with hide_tensorflow_log():
        from keras_elmo import training
        from keras_elmo.models import BiLanguageModel

    bilm = BiLanguageModel.from_pretrained(options.model, options.vocabulary)
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
        f"{result['backward']:.3f}), {counted(result['predictions'], 'prediction')}, "
        f"{result['unknown']:.1%} of the words unknown"
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
