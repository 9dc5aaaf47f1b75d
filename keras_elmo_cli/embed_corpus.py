"""Embed the sentences of many files.

Embeds the sentences of text files, one a line, and writes a folder of Parquet files, with a row for
each sentence. In JSON Lines, CSV and TSV a sentence is a field of each record. The same command
resumes where an earlier one was stopped. keras_elmo.corpora.VectorDataset reads the folder. It
needs pyarrow: pip install "keras-elmo[corpora]"

    keras-elmo embed-corpus 'texts/*.txt.gz' -m tiny -o vectors
    keras-elmo embed-corpus a.jsonl --field text -m tiny -o vectors --pooled
"""

import signal

from keras_elmo_cli import inputs
from keras_elmo_cli.options import COUNT, SWITCH, VECTORS_HELP, add_embedding_arguments


def add_arguments(parser):
    parser.add_input(
        "input",
        metavar="INPUT",
        nargs="+",
        help="text files, or with --field *.jsonl, *.csv or *.tsv; or quoted patterns such as "
        "'corpus/*.txt.gz'; *.gz is decompressed",
    )
    parser.add_shared("--output", help="the folder to write")
    parser.add_shared("--overwrite")
    add_embedding_arguments(
        parser,
        f"all (default: a column for each layer), {VECTORS_HELP}; several with commas "
        "between them, a column each",
    )
    parser.add_argument(
        "--pooled", **SWITCH, help="write the mean over the tokens of a sentence for each layer"
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=("float32", "float16"),
        help="of the vectors in the files (default: %(default)s); float16 takes half of the room",
    )
    parser.add_argument(
        "--shard-size",
        **COUNT,
        help="sentences of a Parquet file (default: 1024, or 16384 with --pooled)",
    )
    parser.add_argument(
        "--check",
        **SWITCH,
        help="compare the SHA-256 of the files that are there, and not only their sizes",
    )


def run(options):
    from keras_elmo.corpora.run import embed_files
    from keras_elmo.process.progress import ProgressBar
    from keras_elmo.process.signals import Interrupted

    state = None

    def show(progress):
        nonlocal state
        state, bar.total = progress, progress.total_rows
        bar.set_postfix_str(f"{progress.shards:,}/{progress.total_shards:,} shards", refresh=False)
        bar.update(progress.rows - bar.n)

    names = "pooled dtype shard_size token_budget encoding errors overwrite field keep format check"
    with ProgressBar("embedding", is_shown=not options.quiet, leave=False) as bar:
        try:
            manifest = embed_files(
                inputs.model_source(options.model),
                options.input,
                options.output,
                [inputs.typed_layers(part) for part in options.layers.split(",")],
                on_progress=show,
                **inputs.chosen(options, *names.split()),
                **inputs.typed_arguments(options),
            )
        except KeyboardInterrupt as error:
            if state is None:
                raise
            done = f"{state.shards:,} of {inputs.pluralize(state.total_shards, 'shard')}"
            raise Interrupted(
                f"{options.output} has {done}; run the same command again to resume",
                getattr(error, "signal_number", signal.SIGINT),
            ) from None
    note = "" if not manifest["rows"] or state.new_rows else "; nothing was missing"
    rows = inputs.pluralize(manifest["rows"], "sentence")
    shards = inputs.pluralize(len(manifest["shards"]), "shard")
    inputs.report(options, f"{options.output}: {rows} in {shards}{note}")
