"""`keras-elmo embed`: a file of sentences to a file of vectors, or many files to a folder."""

import contextlib
import os
import sys

from keras_elmo.checks import check_integers
from keras_elmo.cli import embed_folder
from keras_elmo.cli.layers_argument import parse_layer
from keras_elmo.cli.lines import add_encoding_arguments, open_lines
from keras_elmo.cli.model_argument import MODEL_HELP, add_tokenizer_argument, open_model
from keras_elmo.cli.output_file import check_output, is_same_file
from keras_elmo.cli.wording import counted
from keras_elmo.corpora.embedding_files import write_hdf5, write_npz
from keras_elmo.files import replacing_file
from keras_elmo.models import Elmo

HELP = "embed the sentences of files"
DESCRIPTION = (
    "Embeds sentences, one a line, and writes an array for each, named by the line's number "
    "(0, 1, ...): float32, (tokens, D), or (layers, tokens, D) with --layers all. HDF5 files have "
    "the layout of bilm-tf and AllenNLP. HDF5 lists their names as 0, 1, 10, 100, ...; "
    "keras_elmo.read_embeddings reads them in the order of the lines. With --format parquet the "
    "output is a folder of Parquet files, with a row for each sentence of all inputs; the same "
    "command goes on where an earlier one was stopped, and keras_elmo.corpora.dataset reads the "
    "folder."
)
_SUFFIXES = {".hdf5": "hdf5", ".h5": "hdf5", ".npz": "npz"}


def add_arguments(parser):
    parser.add_argument(
        "input",
        metavar="INPUT",
        nargs="+",
        help="a text file, one sentence a line; *.gz is decompressed; - for standard input. With "
        "--format parquet any number of files, or quoted patterns such as 'corpus/*.txt.gz'",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        help="the file to write: *.hdf5, *.h5 or *.npz; or the folder, with --format parquet",
    )
    parser.add_argument(
        "-f",
        "--format",
        choices=["hdf5", "npz", "parquet"],
        help="of the output (default: what its name says); parquet needs pyarrow: "
        'pip install "keras-elmo[corpora]"',
    )
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    parser.add_argument(
        "-l",
        "--layers",
        default="all",
        help="all (default), average, top, elmo (the learned mix; in a new model the average), "
        "word_emb, lstm_outputs1, lstm_outputs2, ..., or the number of a layer, -1 being the last; "
        "default: one vector a sentence, the mean of elmo over its tokens. With --format parquet "
        "also several with commas between them, a column each, and no default; see --pooled",
    )
    add_tokenizer_argument(parser)
    add_encoding_arguments(parser, "INPUT")
    parser.add_argument(
        "--token-budget",
        type=int,
        metavar="N",
        help="tokens of a batch (memory grows with it). The default is 4096, and more where "
        "sentences are long",
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=["float32", "bfloat16", "float16"],
        help="of weights and arithmetic (default: %(default)s); bfloat16 is less exact, and faster "
        "where the processor has it, and its vectors are written as float32. With float16 the "
        "arithmetic is float32, and Parquet files of half the size hold the vectors as float16",
    )
    embed_folder.add_arguments(parser)
    parser.add_argument(
        "--no-sentence-index",
        action="store_true",
        help="leave out AllenNLP's `sentence_to_index` (HDF5), which holds the whole text",
    )
    parser.add_argument(
        "--use-sentence-keys",
        action="store_true",
        help="name each array by its sentence in the place of its line (HDF5), as AllenNLP's "
        "option; no sentence may occur twice, be empty or hold a /. keras_elmo.read_embeddings "
        "does not read such files, since they do not keep the order of the lines",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    suffix = os.path.splitext(options.output)[1]
    if options.format == "parquet":
        embed_folder.run(options, suffix in _SUFFIXES)
    else:
        _run_for_a_file(options, suffix)


def _run_for_a_file(options, suffix):
    # What can be wrong is found before a model is loaded.
    format = _checked_format(options, suffix)
    budget = {} if options.token_budget is None else {"token_budget": options.token_budget}
    check_integers(1, **budget)
    has_index = format == "hdf5" and not options.no_sentence_index
    kept = [] if has_index or options.use_sentence_keys else None
    with contextlib.ExitStack() as stack:
        with open_model(options.model) as (config, _, source):
            layers = parse_layer(options.layers, config)
            lines = stack.enter_context(
                open_lines(
                    options.input[0],
                    not options.quiet,
                    options.encoding,
                    options.errors,
                    options.use_sentence_keys,
                    kept,
                )
            )
            temporary = stack.enter_context(replacing_file(options.output))
            elmo = Elmo.from_pretrained(source, tokenizer=options.tokenizer, dtype=options.dtype)
        arrays = elmo.embed_stream(lines, layers, progress=not options.quiet, **budget)
        stack.enter_context(contextlib.closing(arrays))  # its progress bar ends before a message
        if format == "hdf5":
            count, tokens = write_hdf5(temporary, arrays, kept, options.use_sentence_keys)
        else:
            count, tokens = write_npz(temporary, arrays)
    if not options.quiet:
        tokens = "" if layers == "default" else f", {counted(tokens, 'token')}"
        print(f"{options.output}: {counted(count, 'sentence')}{tokens}", file=sys.stderr)


def _checked_format(options, suffix):
    format = _SUFFIXES.get(suffix)
    if format is None:
        raise ValueError(
            "The output must be named *.hdf5, *.h5 or *.npz, or be a folder, with --format "
            f"parquet. Received: --output {options.output}"
        )
    if options.format not in (None, format):
        raise ValueError(
            f"With --format {options.format} the output must be named so. "
            f"Received: --output {options.output}"
        )
    if options.use_sentence_keys and format != "hdf5":
        raise ValueError(
            "With --use-sentence-keys the output must be named *.hdf5 or *.h5. "
            f"Received: --output {options.output}"
        )
    embed_folder.check_no_folder(options)
    if len(options.input) > 1:
        raise ValueError(
            "There must be one INPUT, unless the output is a folder, with --format parquet. "
            f"Received: {len(options.input)} of them, {' '.join(options.input[:3])}"
        )
    if options.input[0] != "-" and is_same_file(options.input[0], options.output):
        raise ValueError(f"The output must not be the input. Received: {options.input[0]} for both")
    check_output(options.output, options.model, options.overwrite)
    return format
