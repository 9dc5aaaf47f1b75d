"""`keras-elmo embed`: a file of sentences to a file of vectors."""

import contextlib
import os
import sys

from keras_elmo_cli.arguments import (
    add_embedding_arguments,
    check_output,
    is_same_file,
    load_elmo,
    typed_layers,
)
from keras_elmo_cli.parsing import pluralize
from keras_elmo_cli.reading import read_records

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
    parser.set_defaults(input_names=("input",))
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
    from keras_elmo.checks import check_integers
    from keras_elmo.corpora.embedding_files import write_hdf5, write_npz
    from keras_elmo.files.atomic import replacing_file
    from keras_elmo.files.text_files import input_name
    from keras_elmo.models.embed_stream import parse_layers

    is_hdf5 = _check_output(options)
    if options.token_budget is not None:
        check_integers(1, token_budget=options.token_budget)
    has_index = is_hdf5 and not options.no_sentence_index
    sentences = [] if has_index or options.use_sentence_keys else None
    check = _key_check(input_name(options.input)) if options.use_sentence_keys else None
    records = read_records(options, options.input, check=check, lines=sentences)
    # A progress bar needs the number of the sentences, for which the file is read once more.
    is_counted = not options.quiet and os.path.isfile(options.input)

    def check_input(config):
        (layers,) = parse_layers(config, typed_layers(options.layers), num_mixes=1)
        if is_counted:
            records.count()
        return layers

    with replacing_file(options.output) as temporary:
        elmo, layers = load_elmo(options, check_input)
        texts = records if is_counted else iter(records)
        arrays = elmo.embed_stream(texts, layers, options.token_budget, not options.quiet)
        with contextlib.closing(arrays):  # its progress bar ends before a message
            if is_hdf5:
                keys = options.use_sentence_keys
                count, tokens = write_hdf5(temporary, arrays, sentences, keys, records.kept)
            else:
                count, tokens = write_npz(temporary, arrays, records.kept)
    if not options.quiet:
        tokens = "" if layers == "default" else f", {pluralize(tokens, 'token')}"
        print(f"{options.output}: {pluralize(count, 'sentence')}{tokens}", file=sys.stderr)


def _key_check(name):
    """A function that refuses a `Record` whose text cannot be the name of a dataset in HDF5."""
    line_numbers = {}

    def check(record):
        key, fault = record.line.strip(), None
        first = line_numbers.setdefault(key, record.line_number)
        if first != record.line_number:  # which is the same in a second reading
            fault = f"is that of line {first:,} again"
        elif key in ("", "."):
            fault = "is empty" if not key else "is a dot alone"
        elif "/" in key or "\0" in key:
            fault = "holds a /, which parts groups in HDF5" if "/" in key else "holds a NUL"
        if fault:
            raise ValueError(
                "With --use-sentence-keys each sentence must be a name in the file. Received: "
                f"{name}, line {record.line_number:,}, whose sentence {fault}: {key[:60]!r}. Leave "
                "the option out: sentences are then named by their lines"
            )

    return check


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
