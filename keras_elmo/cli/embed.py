"""`keras-elmo embed`: a file of sentences to a file of vectors."""

import contextlib
import os
import sys

from keras_elmo.checks import check_integers
from keras_elmo.cli.arguments import (
    add_embedding_arguments,
    check_layers,
    check_output,
    is_same_file,
    load_elmo,
)
from keras_elmo.cli.lines import fields_of, open_lines
from keras_elmo.cli.parsing import pluralize
from keras_elmo.corpora.embedding_files import write_hdf5, write_npz
from keras_elmo.files.atomic import replacing_file

HELP = "embed the sentences of a file"
DESCRIPTION = (
    "Embeds sentences, one a line, and writes an array for each, named by the line's number "
    "(0, 1, ...): float32, (tokens, D), or (layers, tokens, D) with --layers all. HDF5 files have "
    "the layout of bilm-tf and AllenNLP. HDF5 lists their names as 0, 1, 10, 100, ...; "
    "keras_elmo.read_embeddings reads them in the order of the lines. In JSON Lines, CSV and TSV a "
    "sentence is a field of each record. For many files see "
    "`keras-elmo embed-corpus`."
)
EXAMPLES = (
    "keras-elmo embed sentences.txt -m tiny -o vectors.hdf5",
    "keras-elmo embed a.csv --field text --keep id -m tiny -o a.npz -l default",
)


def add_arguments(parser):
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="a text file, one sentence a line, or with --field *.jsonl, *.csv or *.tsv; *.gz is "
        "decompressed; - for standard input",
    )
    parser.add_argument(
        "-o", "--output", required=True, help="the file to write: *.hdf5, *.h5 or *.npz"
    )
    add_embedding_arguments(
        parser,
        "all (default), average, top, elmo (the learned mix; in a new model the average), "
        "word_emb, lstm_outputs1, lstm_outputs2, ..., or the number of a layer, -1 being the last; "
        "default: one vector a sentence, the mean of elmo over its tokens",
    )
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


def run(options):
    # What can be wrong is found before a model is loaded.
    is_hdf5 = _check_output(options)
    if options.token_budget is not None:
        check_integers(1, token_budget=options.token_budget)
    fields = fields_of(options)
    has_index = is_hdf5 and not options.no_sentence_index
    sentences = [] if has_index or options.use_sentence_keys else None
    with contextlib.ExitStack() as stack:
        lines, temporary = None, options.output

        def open_files(config):
            nonlocal lines, temporary
            layers = check_layers(options.layers, config)
            lines = stack.enter_context(
                open_lines(
                    options.input,
                    not options.quiet,
                    options.encoding,
                    options.errors,
                    options.use_sentence_keys,
                    sentences,
                    fields,
                )
            )
            temporary = stack.enter_context(replacing_file(options.output))
            return layers

        elmo, layers = load_elmo(options, open_files)
        arrays = elmo.embed_stream(lines, layers, options.token_budget, not options.quiet)
        stack.enter_context(contextlib.closing(arrays))  # its progress bar ends before a message
        if is_hdf5:
            count, tokens = write_hdf5(
                temporary, arrays, sentences, options.use_sentence_keys, lines.kept
            )
        else:
            count, tokens = write_npz(temporary, arrays, lines.kept)
    if not options.quiet:
        tokens = "" if layers == "default" else f", {pluralize(tokens, 'token')}"
        print(f"{options.output}: {pluralize(count, 'sentence')}{tokens}", file=sys.stderr)


def _check_output(options):
    """Whether the output is an HDF5 file; or raises a `ValueError`."""
    suffix = os.path.splitext(options.output)[1]
    if suffix not in (".hdf5", ".h5", ".npz"):
        raise ValueError(
            "The output must be named *.hdf5, *.h5 or *.npz; `keras-elmo embed-corpus` writes a "
            f"folder. Received: --output {options.output}"
        )
    if options.use_sentence_keys and suffix == ".npz":
        raise ValueError(
            "With --use-sentence-keys the output must be named *.hdf5 or *.h5. "
            f"Received: --output {options.output}"
        )
    if options.use_sentence_keys and options.keep:
        raise ValueError(
            "With --use-sentence-keys, whose arrays have no order, --keep must not be given. "
            f"Received: --keep {' --keep '.join(options.keep)}"
        )
    if options.input != "-" and is_same_file(options.input, options.output):
        raise ValueError(f"The output must not be the input. Received: {options.input} for both")
    check_output(options.output, options.model, options.overwrite)
    return suffix != ".npz"
