"""`keras-elmo embed`: a file of sentences to a file of vectors."""

import contextlib
import os
import sys

from keras_elmo.cli import model

HELP = "embed the sentences of a file"
DESCRIPTION = (
    "Embeds sentences, one a line, and writes an array for each, named by the line's number "
    "(0, 1, ...): float32, (tokens, D), or (layers, tokens, D) with --layers all. HDF5 files have "
    "the layout of bilm-tf and AllenNLP."
)
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def add_arguments(parser):
    parser.add_argument(
        "input", metavar="INPUT", help="a text file, one sentence a line; - for standard input"
    )
    parser.add_argument(
        "-o", "--output", required=True, help="the file to write: *.hdf5, *.h5 or *.npz"
    )
    parser.add_argument("-m", "--model", required=True, help=model.MODEL)
    parser.add_argument(
        "-l",
        "--layers",
        default="all",
        help="all (default), average, top, elmo (the learned mix; in a new model the average), "
        "or the number of a layer",
    )
    model.add_tokenizer(parser)
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
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")


def run(options):
    from keras_elmo.weights.hdf5 import replacing

    # What can be wrong is found before a model is loaded.
    write = _writer(options)
    noted = [] if write is _write_hdf5 and not options.no_sentence_index else None
    layers = int(options.layers) if options.layers.isdecimal() else options.layers
    with _open_lines(options.input, noted) as lines, replacing(options.output) as temporary:
        elmo = model.import_elmo().from_pretrained(
            options.model, tokenizer=options.tokenizer, dtype=options.dtype
        )
        budget = {} if options.token_budget is None else {"token_budget": options.token_budget}
        arrays = elmo.embed_stream(lines, layers, progress=not options.quiet, **budget)
        count, tokens = write(temporary, arrays, noted)
    if not options.quiet:
        print(f"{options.output}: {count:,} sentences, {tokens:,} tokens", file=sys.stderr)


def _writer(options):
    writers = {".hdf5": _write_hdf5, ".h5": _write_hdf5, ".npz": _write_npz}
    writer = writers.get(os.path.splitext(options.output)[1])
    if writer is None:
        raise ValueError(
            f"The output must be named *.hdf5, *.h5 or *.npz. Received: --output {options.output}"
        )
    if options.input != "-" and os.path.exists(options.output):
        if os.path.exists(options.input) and os.path.samefile(options.input, options.output):
            raise ValueError(
                f"The output must not be the input. Received: {options.input} for both"
            )
    folder = os.path.dirname(os.path.abspath(options.output))
    if os.path.isdir(options.model) and os.path.isdir(folder):
        if os.path.samefile(folder, options.model):
            raise ValueError(
                "The output must not lie in the model's folder, where it could replace the weights."
                f" Received: --output {options.output}"
            )
    return writer


class _Lines:
    """The sentences of a file as bytes; `noted` keeps those that were read, if it is a list."""

    def __init__(self, file, noted=None):
        self.file, self.noted = file, noted

    def __iter__(self):
        for number, line in enumerate(self.file):
            if number == 0:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            line = line.rstrip(b"\r\n")
            if self.noted is not None:
                self.noted.append(line)
            yield line


class _CountedLines(_Lines):
    """The same for a file that can be read twice: their number is known, for the progress bar."""

    def __len__(self):
        count = sum(1 for _ in self.file)
        self.file.seek(0)
        return count


@contextlib.contextmanager
def _open_lines(path, noted):
    if path == "-":
        yield _Lines(sys.stdin.buffer, noted)
        return
    with open(path, "rb") as file:
        yield (_CountedLines if file.seekable() else _Lines)(file, noted)


def _write_hdf5(path, arrays, sentences):
    import json

    import h5py

    count = tokens = 0
    with h5py.File(path, "w") as file:
        for array in arrays:
            file.create_dataset(str(count), data=array)
            count, tokens = count + 1, tokens + array.shape[-2]
        if sentences is not None:
            texts = (sentence.decode("utf-8", "replace") for sentence in sentences)
            index = json.dumps({text: str(number) for number, text in enumerate(texts)})
            dataset = file.create_dataset("sentence_to_index", (1,), h5py.string_dtype())
            dataset[0] = index
    return count, tokens


def _write_npz(path, arrays, sentences):
    import zipfile

    import numpy as np

    count = tokens = 0
    with zipfile.ZipFile(path, "w") as archive:
        for array in arrays:
            with archive.open(f"{count}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)
            count, tokens = count + 1, tokens + array.shape[-2]
    return count, tokens
