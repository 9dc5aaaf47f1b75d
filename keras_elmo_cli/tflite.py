"""`keras-elmo tflite`: a model to a TFLite file."""

import os
import sys

from keras_elmo_cli.arguments import (
    ANY_MODEL_HELP,
    add_tokenizer_argument,
    check_overwrite,
    load_any_model,
)
from keras_elmo_cli.choices import INPUTS, QUANTIZATIONS

HELP = "write a model as a TFLite file"
DESCRIPTION = (
    "Writes a model as a TFLite file of builtin operations alone, which ai-edge-litert runs "
    "without TensorFlow. keras-elmo-lite is the library for such files. A file says how to call it "
    "in its metadata 'keras_elmo' (JSON)."
)
EXAMPLES = (
    "keras-elmo tflite tiny elmo.tflite --quantize int8",
    "keras-elmo tflite reviews.keras reviews.tflite",
)


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help=ANY_MODEL_HELP)
    parser.add_argument("file", metavar="FILE", help="the file to write: *.tflite")
    parser.add_argument(
        "-i",
        "--inputs",
        default=_typed(INPUTS[0]),
        choices=[_typed(inputs) for inputs in INPUTS],
        help="what the signature serving_default takes. character-ids (default): int32, (batch, "
        "tokens, characters); text: UTF-8 bytes, (batch, bytes), which the file splits on "
        "whitespace; words: there is no such signature, and keras-elmo-lite starts sooner",
    )
    add_tokenizer_argument(parser)
    parser.add_argument(
        "--quantize",
        default=QUANTIZATIONS[0],
        choices=QUANTIZATIONS,
        help="float32 (default); or weights of half the size, float16, or of a quarter, int8 "
        "(dynamic range)",
    )
    parser.add_argument(
        "--dynamic-batch",
        dest="batch",
        action="store_const",
        const=None,
        default=1,
        help="any number of sentences, not one",
    )
    parser.add_argument(
        "--max-tokens",
        type=int,
        metavar="N",
        help="fix all shapes: sentences of N tokens, for a browser",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing FILE")
    parser.add_argument("-q", "--quiet", action="store_true", help="say nothing when it is done")


def _typed(inputs):
    """A kind of inputs as it is typed on the command line."""
    return inputs.replace("_", "-")


def run(options):
    # What can be wrong is found before a model is loaded.
    from keras_elmo.models import Elmo
    from keras_elmo.tasks import Tagger, TextClassifier
    from keras_elmo.tflite import export as tflite

    if not options.file.endswith(".tflite"):
        raise ValueError(f"The file must be named *.tflite. Received: {options.file}")
    check_overwrite(options.file, options.overwrite)
    tflite.export_tflite(
        load_any_model(options, (Elmo, TextClassifier, Tagger)),
        options.file,
        options.inputs.replace("-", "_"),
        None if options.quantize == "float32" else options.quantize,
        options.batch,
        options.max_tokens,
        options.overwrite,
    )
    if not options.quiet:
        description = tflite.metadata(options.file)
        signatures = ", ".join(
            f"{name}({', '.join(signature['inputs'])})"
            for name, signature in description["signatures"].items()
        )
        size = os.path.getsize(options.file) / 1e6
        print(f"{options.file}: {size:,.1f} MB, signatures {signatures}", file=sys.stderr)
