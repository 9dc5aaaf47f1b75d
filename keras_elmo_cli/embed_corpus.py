"""`keras-elmo embed-corpus`: files of sentences to a folder of vectors."""

import signal
import sys

from keras_elmo_cli.arguments import (
    add_embedding_arguments,
    model_source,
    typed_arguments,
    typed_layers,
)
from keras_elmo_cli.choices import POOLED_SHARD_SIZE, SHARD_SIZE, VECTOR_DTYPES
from keras_elmo_cli.parsing import pluralize

HELP = "embed the sentences of many files"
DESCRIPTION = (
    "Embeds the sentences of text files, one a line, and writes a folder of Parquet files, with a "
    "row for each sentence. In JSON Lines, CSV and TSV a sentence is a field of each record. The "
    "same command resumes where an earlier one was stopped. keras_elmo.corpora.VectorDataset reads "
    'the folder. It needs pyarrow: pip install "keras-elmo[corpora]"'
)
EXAMPLES = (
    "keras-elmo embed-corpus 'texts/*.txt.gz' -m tiny -o vectors",
    "keras-elmo embed-corpus a.jsonl --field text -m tiny -o vectors --pooled",
)


def add_arguments(parser):
    parser.set_defaults(input_names=("input",))
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="+",
        help="text files, or with --field *.jsonl, *.csv or *.tsv; or quoted patterns such as "
        "'corpus/*.txt.gz'; *.gz is decompressed",
    )
    parser.add_argument("-o", "--output", required=True, help="the folder to write")
    add_embedding_arguments(
        parser,
        "all (default: a column for each layer), average, top, elmo (the learned mix; in a new "
        "model the average), word_emb, lstm_outputs1, lstm_outputs2, ..., or the number of a "
        "layer, -1 being the last; several with commas between them, a column each",
    )
    parser.add_argument(
        "--pooled",
        action="store_true",
        help="write one vector a sentence for each layer, the mean over its tokens",
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=VECTOR_DTYPES,
        help="of the vectors in the files (default: %(default)s); float16 takes half of the room",
    )
    parser.add_argument(
        "--shard-size",
        type=int,
        metavar="N",
        help=f"sentences of a Parquet file (default: {SHARD_SIZE}, or {POOLED_SHARD_SIZE} with "
        "--pooled)",
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

    with ProgressBar("embedding", is_shown=not options.quiet, leave=False) as bar:
        try:
            manifest = embed_files(
                model_source(options.model),
                options.input,
                options.output,
                [typed_layers(part) for part in options.layers.split(",")],
                options.pooled,
                options.dtype,
                options.shard_size,
                options.token_budget,
                options.encoding,
                options.errors,
                options.overwrite,
                show,
                options.field,
                options.keep,
                options.format,
                **typed_arguments(options),
            )
        except KeyboardInterrupt as error:
            if state is None:
                raise
            done = f"{state.shards:,} of {pluralize(state.total_shards, 'shard')}"
            raise Interrupted(
                f"{options.output} has {done}; run the same command again to resume",
                getattr(error, "signal_number", signal.SIGINT),
            ) from None
    if not options.quiet:
        note = "" if state.new_rows or not manifest["rows"] else "; nothing was missing"
        rows = pluralize(manifest["rows"], "sentence")
        shards = pluralize(len(manifest["shards"]), "shard")
        print(f"{options.output}: {rows} in {shards}{note}", file=sys.stderr)
