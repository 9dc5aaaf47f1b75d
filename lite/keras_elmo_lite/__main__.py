"""`keras-elmo-lite`: turns the sentences of a file into vectors, or into labels and tags."""

import argparse
import codecs
import itertools
import json
import os
import signal
import sys
import zipfile

import numpy as np

from keras_elmo_lite import __version__
from keras_elmo_lite.elmo import Elmo
from keras_elmo_lite.tasks import Tagger, TextClassifier

_TEXTS_PER_CALL = 1024  # whose labels are printed together


def main(arguments=None):
    parser = argparse.ArgumentParser(
        prog="keras-elmo-lite",
        description="Turns the sentences of a file into vectors, labels or tags.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("input", metavar="FILE", help="UTF-8, one sentence a line; - for stdin")
    shared.add_argument("-m", "--model", required=True, help="a file of `keras-elmo tflite`")
    shared.add_argument("--threads", type=int, help="(default: one for each core)")

    embed = commands.add_parser("embed", parents=[shared], help="embed the sentences of a file")
    embed.set_defaults(run=_embed)
    embed.add_argument("-o", "--output", required=True, help="the file to write: *.npz")
    embed.add_argument(
        "-l",
        "--layers",
        default="all",
        help="all (default), average, top, elmo, word_emb, lstm_outputs1, ..., the number of a "
        "layer, or default: one vector a sentence",
    )
    embed.add_argument("--overwrite", action="store_true", help="replace an existing output")
    embed.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    what = "print the label of each line, its probability and the line, with tabs between them"
    classify = commands.add_parser("classify", parents=[shared], help=what)
    classify.set_defaults(run=_classify)
    what = "print each token, a tab and its tag, and a blank line after each sentence"
    tag = commands.add_parser("tag", parents=[shared], help=what)
    tag.set_defaults(run=_tag)
    tag.add_argument("--entities", action="store_true", help="print entities as JSON instead")
    options = parser.parse_args(arguments)
    try:
        status = options.run(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # The reader has gone. What is still to be written goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except (OSError, ValueError) as error:
        message = " ".join(str(error).split())
        print(f"keras-elmo-lite {options.command}: error: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        end = "; nothing was written." if options.run is _embed else "."
        print(f"Stopped{end}", file=sys.stderr)
        return 130


def _groups_of_lines(options):
    """The lines of the input, in lists of as many as a model labels at once."""
    source = sys.stdin.fileno() if options.input == "-" else options.input
    with open(source, "rb") as file:
        lines = _lines(file, options.input)
        while group := list(itertools.islice(lines, _TEXTS_PER_CALL)):
            if wrong := [line for line in group if "\t" in line]:
                raise ValueError(
                    f"Each line of {options.input} must be a text without tabs. If they separate "
                    f"columns, cut out that of the text. Received: {wrong[0][:60]!r}"
                )
            yield group


def _classify(options):
    model = TextClassifier(options.model, options.threads)
    for texts in _groups_of_lines(options):
        rows = model.predict(texts)
        for text, label, row in zip(texts, model.labels_of(rows), rows, strict=True):
            names = label if isinstance(label, list) else [label]
            share = "" if isinstance(label, list) else f"\t{row.max():.3f}"
            print(f"{','.join(map(str, names))}{share}\t{text}".replace("\r", " "))
    return 0


def _tag(options):
    model = Tagger(options.model, options.threads)
    for texts in _groups_of_lines(options):
        if options.entities:
            for text, found in zip(texts, model.entities(texts), strict=True):
                spans = [[entity.start, entity.end, entity.label] for entity in found]
                scores = [round(entity.score, 3) for entity in found]
                row = {"text": text, "label": spans, "scores": scores}
                print(json.dumps(row, ensure_ascii=False))
            continue
        for row in model.tag(texts):
            print("".join(f"{token}\t{tag}\n" for token, tag in row))
    return 0


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
    """The lines of a binary file, as keras_elmo reads them: `\\n`, `\\r\\n` and `\\r` end one."""
    lines = (line for part in file for line in part.rstrip(b"\r\n").split(b"\r"))
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield line.decode()
        except UnicodeDecodeError:
            raise ValueError(
                f"{name} must be UTF-8. Received: line {number:,}: {line[:60]!r}. "
                "Convert the file first, as with `iconv -f latin1 -t utf-8`"
            ) from None


if __name__ == "__main__":
    sys.exit(main())
