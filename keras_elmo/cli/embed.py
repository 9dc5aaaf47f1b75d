"""`keras-elmo embed`: a file of sentences to a file of vectors."""

import contextlib
import json
import os
import re
import sys
import zipfile

import h5py
import numpy as np

from keras_elmo.checks import check_integers
from keras_elmo.cli.lines import check_encoding, open_lines
from keras_elmo.cli.model_argument import MODEL_HELP, add_tokenizer_argument, open_model
from keras_elmo.cli.output_file import check_output, is_same_file
from keras_elmo.cli.wording import counted
from keras_elmo.files import replacing_file
from keras_elmo.models import Elmo
from keras_elmo.weights.hdf5_file import create_hdf5

HELP = "embed the sentences of a file"
DESCRIPTION = (
    "Embeds sentences, one a line, and writes an array for each, named by the line's number "
    "(0, 1, ...): float32, (tokens, D), or (layers, tokens, D) with --layers all. HDF5 files have "
    "the layout of bilm-tf and AllenNLP. HDF5 lists their names as 0, 1, 10, 100, ...; "
    "keras_elmo.read_embeddings reads them in the order of the lines."
)


def add_arguments(parser):
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="a text file, one sentence a line; *.gz is decompressed; - for standard input",
    )
    parser.add_argument(
        "-o", "--output", required=True, help="the file to write: *.hdf5, *.h5 or *.npz"
    )
    parser.add_argument("-m", "--model", required=True, help=MODEL_HELP)
    parser.add_argument(
        "-l",
        "--layers",
        default="all",
        help="all (default), average, top, elmo (the learned mix; in a new model the average), "
        "word_emb, lstm_outputs1, lstm_outputs2, ..., or the number of a layer, -1 being the last; "
        "default: one vector a sentence, the mean of elmo over its tokens",
    )
    add_tokenizer_argument(parser)
    parser.add_argument(
        "--encoding",
        default="utf-8",
        type=check_encoding,
        help="of INPUT (default: %(default)s), such as latin-1 or utf-16",
    )
    parser.add_argument(
        "--errors",
        default="strict",
        choices=["strict", "replace"],
        help="what to do with lines of another encoding: refuse them (strict, the default), or "
        "replace what cannot be read by U+FFFD",
    )
    parser.add_argument(
        "--token-budget", type=int, metavar="N", help="tokens of a batch (memory grows with it)"
    )
    parser.add_argument(
        "--dtype",
        default="float32",
        choices=["float32", "bfloat16"],
        help="of weights and arithmetic (default: %(default)s); bfloat16 is less exact, and faster "
        "where the processor has it. Vectors are written as float32",
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
    parser.add_argument("--overwrite", action="store_true", help="replace an existing output")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    # What can be wrong is found before a model is loaded.
    write = _writer(options)
    budget = {} if options.token_budget is None else {"token_budget": options.token_budget}
    check_integers(1, **budget)
    has_index = write is _write_hdf5 and not options.no_sentence_index
    kept = [] if has_index or options.use_sentence_keys else None
    with contextlib.ExitStack() as stack:
        with open_model(options.model) as (config, _, source):
            layers = _layers(options.layers, config)
            lines = stack.enter_context(
                open_lines(
                    options.input,
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
        count, tokens = write(temporary, arrays, kept, options.use_sentence_keys)
    if not options.quiet:
        tokens = "" if layers == "default" else f", {counted(tokens, 'token')}"
        print(f"{options.output}: {counted(count, 'sentence')}{tokens}", file=sys.stderr)


def _writer(options):
    writers = {".hdf5": _write_hdf5, ".h5": _write_hdf5, ".npz": _write_npz}
    writer = writers.get(os.path.splitext(options.output)[1])
    if writer is None:
        raise ValueError(
            f"The output must be named *.hdf5, *.h5 or *.npz. Received: --output {options.output}"
        )
    if options.use_sentence_keys and writer is not _write_hdf5:
        raise ValueError(
            "With --use-sentence-keys the output must be named *.hdf5 or *.h5. "
            f"Received: --output {options.output}"
        )
    if options.input != "-" and is_same_file(options.input, options.output):
        raise ValueError(f"The output must not be the input. Received: {options.input} for both")
    check_output(options.output, options.model, options.overwrite)
    return writer


def _layers(typed, config):
    """The argument `layers` of `Elmo.embed` for what was typed."""
    last = config.num_layers
    names = ["all", "average", "top", "elmo", "default", "word_emb"]
    names += [f"lstm_outputs{number}" for number in range(1, last + 1)]
    if typed in names:
        return typed
    if re.fullmatch(r"-?[0-9]+", typed) and -last - 1 <= int(typed) <= last:
        return int(typed)
    raise ValueError(
        f"--layers must be one of {', '.join(names)}, or a number from {-last - 1} to {last}. "
        f"Received: --layers {typed}"
    )


def _num_tokens(array):
    return array.shape[-2] if array.ndim > 1 else 0  # 0: one vector a sentence


def _write_hdf5(path, arrays, sentences, are_keys):
    count = tokens = 0
    with create_hdf5(path) as file:
        for array in arrays:
            name = sentences[count].strip() if are_keys else str(count)
            file.create_dataset(name, data=array)
            count, tokens = count + 1, tokens + _num_tokens(array)
        if sentences is not None and not are_keys:
            index = json.dumps({text: str(number) for number, text in enumerate(sentences)})
            dataset = file.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
            dataset[0] = index
    return count, tokens


def _write_npz(path, arrays, *_):
    count = tokens = 0
    with zipfile.ZipFile(path, "w") as archive:
        for array in arrays:
            with archive.open(f"{count}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)
            count, tokens = count + 1, tokens + _num_tokens(array)
    return count, tokens
