"""Write a model as a TFLite file.

Writes a model as a TFLite file of builtin operations alone, which ai-edge-litert runs without
TensorFlow. keras-elmo-lite is the library for such files. A file says how to call it in its
metadata 'keras_elmo' (JSON).

    keras-elmo tflite tiny elmo.tflite --quantize int8
    keras-elmo tflite reviews.keras reviews.tflite
"""

import os

from keras_elmo_cli.inputs import load_any_model, report
from keras_elmo_cli.options import ANY_MODEL_HELP, COUNT, SWITCH


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help=ANY_MODEL_HELP)
    help = "the file to write: *.tflite"
    parser.add_output("file", suffixes=(".tflite",), metavar="FILE", help=help)
    parser.add_argument(
        "-i",
        "--inputs",
        default="character-ids",
        choices=("character-ids", "text", "words"),
        help="what the signature serving_default takes. character-ids (default): int32, (batch, "
        "tokens, characters); text: UTF-8 bytes, (batch, bytes), which the file splits on "
        "whitespace; words: there is no such signature, and keras-elmo-lite starts sooner",
    )
    parser.add_shared("--tokenizer")
    parser.add_argument(
        "--quantize",
        default="float32",
        choices=("float32", "float16", "int8"),
        help="float32 (default); or weights of half the size, float16, or of a quarter, int8 "
        "(dynamic range)",
    )
    parser.add_argument(
        "--dynamic-batch", dest="batch", **SWITCH, help="any number of sentences, not one"
    )
    parser.add_argument(
        "--max-tokens", **COUNT, help="fix all shapes: sentences of N tokens, for a browser"
    )
    parser.add_shared("--quiet")


def run(options):
    from keras_elmo.models import Elmo
    from keras_elmo.tasks import Tagger, TextClassifier
    from keras_elmo.tflite import export as tflite

    tflite.export_tflite(
        load_any_model(options, (Elmo, TextClassifier, Tagger)),
        options.file,
        options.inputs.replace("-", "_"),
        None if options.quantize == "float32" else options.quantize,
        None if options.batch else 1,
        options.max_tokens,
        options.overwrite,
    )
    if options.quiet:
        return
    signatures = ", ".join(
        f"{name}({', '.join(signature['inputs'])})"
        for name, signature in tflite.metadata(options.file)["signatures"].items()
    )
    size = os.path.getsize(options.file) / 1e6
    report(options, f"{options.file}: {size:,.1f} MB, signatures {signatures}")
