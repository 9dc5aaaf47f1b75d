"""Embed the sentences of a file.

Embeds sentences, one a line, and writes an array for each, named by the line's number (0, 1, ...):
float32, (tokens, D), or (layers, tokens, D) with --layers all. HDF5 files have the layout of
bilm-tf and AllenNLP. HDF5 lists their names as 0, 1, 10, 100, ...; keras_elmo.read_embeddings reads
them in the order of the lines. In JSON Lines, CSV and TSV a sentence is a field of each record. For
many files see `keras-elmo embed-corpus`.

    keras-elmo embed sentences.txt -m tiny -o vectors.hdf5
    keras-elmo embed a.csv --field text --keep id -m tiny -o a.npz -l default
"""

import contextlib
import os

from keras_elmo_cli import inputs
from keras_elmo_cli.options import SWITCH, VECTORS_HELP, add_embedding_arguments


def add_arguments(parser):
    parser.add_input(
        "input",
        metavar="INPUT",
        help="a text file, one sentence a line, or with --field *.jsonl, *.csv or *.tsv; *.gz is "
        "decompressed; - for standard input",
    )
    suffixes = (".hdf5", ".h5", ".npz")
    parser.add_output(suffixes=suffixes, help="the file to write: *.hdf5, *.h5 or *.npz")
    add_embedding_arguments(
        parser,
        f"all (default), {VECTORS_HELP}; default: one vector a sentence, the mean of "
        "elmo over its tokens",
    )
    parser.add_argument(
        "--no-sentence-index",
        **SWITCH,
        help="leave out AllenNLP's `sentence_to_index` (HDF5), which holds the whole text",
    )


def run(options):
    from keras_elmo.files.atomic import replacing_file
    from keras_elmo.models.embed_stream import parse_layers
    from keras_elmo.weights.embedding_files import write_embeddings

    is_npz = options.output.endswith(".npz")
    sentences = None if is_npz or options.no_sentence_index else []
    records = inputs.read_records(options, options.input, lines=sentences)
    with replacing_file(options.output) as temporary:
        texts = iter(records)
        # A progress bar needs the number of the sentences, for which the file is read once more.
        if not options.quiet and os.path.isfile(options.input):
            records.count()
            texts = records
        elmo = inputs.load_elmo(options)
        (layers,) = parse_layers(elmo.config, inputs.typed_layers(options.layers), num_mixes=1)
        arrays = elmo.embed_stream(texts, layers, options.token_budget, not options.quiet)
        with contextlib.closing(arrays):  # its progress bar ends before a message
            count, tokens = write_embeddings(temporary, arrays, sentences, records.kept)
    tokens = "" if layers == "default" else f", {inputs.pluralize(tokens, 'token')}"
    inputs.report(options, f"{options.output}: {inputs.pluralize(count, 'sentence')}{tokens}")
