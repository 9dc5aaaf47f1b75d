"""Measure the perplexity of text files.

Measures the perplexity that a biLM gives to text files (a sentence a line; *.gz too), by the full
softmax. Of a stream of sentences each lane carries its LSTM state on, so the figure depends a
little on the batch size. All words that the vocabulary does not have are one, which is easy to
predict: compare models of the same share of unknown words.

    keras-elmo evaluate my-elmo test.txt
    keras-elmo evaluate original 'texts/*.txt.gz' --batch-size 64
"""

from keras_elmo_cli.inputs import chosen, model_source, pluralize, read_corpus, reading_bar
from keras_elmo_cli.options import COUNT, add_corpus_arguments


def add_arguments(parser):
    add = parser.add_argument
    add(
        "model",
        metavar="MODEL",
        help="one with a softmax: a folder of `keras-elmo train`, or a checkpoint's; small, medium "
        "or original (which downloads at least 2 GB); or hf://user/model",
    )
    parser.add_input("files", nargs="+", metavar="FILES", help="text files, or patterns")
    help = "where MODEL has no vocab.txt"
    parser.add_input("--vocab", dest="vocabulary", metavar="FILE", help=help)
    add("--batch-size", **COUNT, default=32, help="lanes (%(default)s)")
    add("--unroll-steps", **COUNT, default=20, help="tokens of a lane at a time (%(default)s)")
    add_corpus_arguments(parser)
    parser.add_shared("--matmul-dtype", "--quiet")


def run(options):
    import keras

    from keras_elmo import training
    from keras_elmo.process.progress import ProgressBar
    from keras_elmo.process.signals import check_signals

    corpus = read_corpus(options, options.files)
    bilm = training.BiLanguageModel.from_pretrained(
        model_source(options.model), **chosen(options, "vocabulary", "matmul_dtype")
    )
    bilm.check_softmax()
    with reading_bar(options, corpus.files) as bar:
        # Every line is read and checked before hours are spent.
        unknown = corpus.oov_rate(bilm.vocabulary, bar.update)
    num_predictions = sum(corpus.counts())  # every token, and the end of every sentence
    tokens_per_step = options.batch_size * options.unroll_steps
    is_shown = not options.quiet
    with ProgressBar("evaluating", num_predictions, "predictions", is_shown, leave=False) as bar:

        def after_batch(batch, logs):
            bar.update(min(tokens_per_step, num_predictions - bar.n))
            check_signals()

        result = bilm.evaluate(
            corpus,
            batch_size=options.batch_size,
            unroll_steps=options.unroll_steps,
            callbacks=[keras.callbacks.LambdaCallback(on_test_batch_end=after_batch)],
            return_dict=True,
            verbose=0,
        )
    print(
        f"perplexity {result['perplexity']:.3f} (forward {result['forward']:.3f}, backward "
        f"{result['backward']:.3f}), {pluralize(num_predictions, 'prediction')}, "
        f"{unknown:.1%} of the words unknown"
    )
