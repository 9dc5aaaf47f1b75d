"""`python -m keras_elmo_lite embed FILE -o vectors.npz`: a file of sentences to vectors."""

import argparse
import codecs
import os
import signal
import sys
import zipfile

import numpy as np

from keras_elmo_lite.elmo import Elmo


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="keras-elmo-lite", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    embed = commands.add_parser("embed", help="embed the sentences of a file")
    embed.add_argument("input", metavar="FILE", help="UTF-8, one sentence a line; - for stdin")
    embed.add_argument("-o", "--output", required=True, help="the file to write: *.npz")
    embed.add_argument("-m", "--model", required=True, help="a file of `keras-elmo tflite`")
    embed.add_argument(
        "-l",
        "--layers",
        default="all",
        help="all (default), average, top, elmo, word_emb, lstm_outputs1, ..., the number of a "
        "layer, or default: one vector a sentence",
    )
    embed.add_argument("--threads", type=int, help="(default: one for each processor)")
    embed.add_argument("--overwrite", action="store_true", help="replace an existing output")
    embed.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    options = parser.parse_args(arguments)
    try:
        return _embed(options)
    except (OSError, ValueError) as error:
        message = " ".join(str(error).split())
        print(f"keras-elmo-lite {options.command}: error: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; nothing was written.", file=sys.stderr)
        return 130


def _embed(options):
    if not options.output.endswith(".npz"):
        raise ValueError(f"The output must be named *.npz. Received: --output {options.output}")
    if os.path.exists(options.output) and not options.overwrite:
        raise ValueError(f"{options.output} exists already; give --overwrite")
    layers = options.layers
    if layers.removeprefix("-").isdecimal():
        layers = int(layers)
    elmo = Elmo(options.model, options.threads)
    temporary = f"{options.output}.{os.getpid()}.part"
    count = 0
    source = sys.stdin.fileno() if options.input == "-" else options.input
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # runs what follows `finally`
    try:
        with open(source, "rb") as text, zipfile.ZipFile(temporary, "w") as archive:
            sentences = _lines(text, "standard input" if options.input == "-" else source)
            for array in elmo.embed_stream(sentences, layers, not options.quiet):
                with archive.open(f"{count}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array)
                count += 1
        os.replace(temporary, options.output)
    finally:
        signal.signal(signal.SIGTERM, before)
        if os.path.exists(temporary):
            os.remove(temporary)
    if not options.quiet:
        print(f"{options.output}: {count:,} sentences", file=sys.stderr)
    return 0


def _lines(file, name):
    """The lines of a binary file, as keras_elmo reads them: only `\\n` and `\\r\\n` end one."""
    for number, line in enumerate(file, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError:
            raise ValueError(
                f"{name} must be UTF-8. Received: line {number:,}: {line[:60]!r}. "
                "Convert the file first, as with `iconv -f latin1 -t utf-8`"
            ) from None


if __name__ == "__main__":
    sys.exit(main())
