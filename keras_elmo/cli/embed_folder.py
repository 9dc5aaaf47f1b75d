"""`keras-elmo embed --format parquet`: files of sentences to a folder of vectors."""

import logging
import signal
import sys

from keras_elmo.checks import check_integers
from keras_elmo.cli.layers_argument import parse_layer
from keras_elmo.cli.model_argument import open_model
from keras_elmo.cli.output_file import is_same_file
from keras_elmo.cli.progress import CorpusProgress
from keras_elmo.cli.wording import counted
from keras_elmo.corpora import embed_files
from keras_elmo.corpora.run import POOLED_SHARD_SIZE, SHARD_SIZE
from keras_elmo.corpora.shards import check_pyarrow
from keras_elmo.models import Elmo
from keras_elmo.signals import Interrupted
from keras_elmo.text_files import find_files


def add_arguments(parser):
    """Adds the options that only a folder has."""
    parser.add_argument(
        "--pooled",
        action="store_true",
        help="write one vector a sentence for each layer, the mean over its tokens "
        "(--format parquet)",
    )
    parser.add_argument(
        "--shard-size",
        type=int,
        metavar="N",
        help=f"sentences of a Parquet file (default: {SHARD_SIZE}, or {POOLED_SHARD_SIZE} with "
        "--pooled)",
    )


def check_no_folder(options):
    """Raises an error if an option is given that only a folder has."""
    given = {
        "--pooled": options.pooled,
        "--shard-size": options.shard_size is not None,
        "--dtype float16": options.dtype == "float16",
    }
    for option, is_given in given.items():
        if is_given:
            raise ValueError(f"{option} must go with --format parquet. Received: {option} alone")


def run(options, is_named_like_a_file):
    # What can be wrong is found before a model is loaded.
    check_pyarrow()
    if is_named_like_a_file:
        raise ValueError(
            "With --format parquet the output is a folder, and must not be named *.hdf5, *.h5 or "
            f"*.npz. Received: --output {options.output}"
        )
    for option in ("no_sentence_index", "use_sentence_keys"):
        if getattr(options, option):
            raise ValueError(
                f"{options.typed[option]} must go with HDF5. Received: it and --format parquet"
            )
    for name in ("token_budget", "shard_size"):
        if getattr(options, name) is not None:
            check_integers(1, **{name: getattr(options, name)})
    find_files(options.input)
    if is_same_file(options.output, options.model):
        raise ValueError(
            f"The output must not be the model's folder. Received: --output {options.output}"
        )
    with open_model(options.model) as (config, _, source):
        layers = [parse_layer(part.strip(), config) for part in options.layers.split(",")]
        dtype = "float32" if options.dtype == "float16" else options.dtype
        elmo = Elmo.from_pretrained(source, tokenizer=options.tokenizer, dtype=dtype)
    logging.basicConfig(format="keras-elmo embed: %(message)s")
    with CorpusProgress(is_shown=not options.quiet) as progress:
        try:
            manifest = embed_files(
                elmo,
                options.input,
                options.output,
                layers,
                options.pooled,
                options.dtype if options.dtype == "float16" else "float32",
                options.shard_size,
                options.token_budget,
                options.encoding,
                options.errors,
                options.overwrite,
                progress,
                options.model,
            )
        except KeyboardInterrupt as error:
            if progress.last is None:
                raise
            done = f"{progress.last.shards:,} of {counted(progress.last.total_shards, 'shard')}"
            raise Interrupted(
                f"{options.output} has {done}; run the same command again to go on",
                getattr(error, "signal_number", signal.SIGINT),
            ) from None
    if not options.quiet:
        state = "" if progress.last.new_rows or not manifest["rows"] else "; nothing was missing"
        rows = counted(manifest["rows"], "sentence")
        shards = counted(len(manifest["shards"]), "shard")
        print(f"{options.output}: {rows} in {shards}{state}", file=sys.stderr)
