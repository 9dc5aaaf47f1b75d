"""`keras-elmo export`: a model as a SavedModel."""

import os
import sys

from keras_elmo_cli.arguments import (
    ANY_MODEL_HELP,
    add_matmul_dtype_argument,
    add_tokenizer_argument,
    load_any_model,
)
from keras_elmo_cli.choices import OPS, STORAGE

HELP = "write a SavedModel for TensorFlow Serving"
DESCRIPTION = (
    "Writes a SavedModel that takes raw strings, as DIR/1 (a number, as TensorFlow Serving wants "
    "it). An Elmo has the signatures default, serving_default, tokens, and one for each output; "
    "what `classify train` and `tag train` wrote gives labels and tags."
)
EXAMPLES = (
    "keras-elmo export tiny served/elmo --max-tokens 200",
    "keras-elmo export reviews.keras served/reviews --ops core",
)
_WARMUP = ["The cat sat on the mat .", "Warm", " ".join(["word"] * 50)]


def add_arguments(parser):
    parser.add_argument("model", metavar="MODEL", help=ANY_MODEL_HELP)
    parser.add_argument("folder", metavar="DIR", help="the model's folder; a version goes into it")
    parser.add_argument(
        "--version-number", type=int, default=1, metavar="N", help="(default: %(default)s)"
    )
    add_tokenizer_argument(parser)
    parser.add_argument(
        "--ops",
        default=OPS[0],
        choices=OPS,
        help="core: programs in Python load the model with TensorFlow alone; tensorflow-text: they "
        "must import tensorflow_text first (default: %(default)s)",
    )
    parser.add_argument(
        "--storage",
        choices=STORAGE,
        help="dtype of the stored weights (default: float32)",
    )
    add_matmul_dtype_argument(parser)
    parser.add_argument(
        "--pooled-only", action="store_true", help="only the mean vector of each sentence"
    )
    parser.add_argument(
        "--max-tokens", type=int, metavar="N", help="refuse sentences of more tokens"
    )
    parser.add_argument(
        "--warmup",
        action="store_true",
        help="add a warm-up request (needs tensorflow-serving-api)",
    )
    parser.add_argument(
        "--max-batch-size",
        type=int,
        metavar="N",
        help="add batching_params.pbtxt: requests are put together up to N sentences",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace DIR/1 if it exists")
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing")


def run(options):
    from keras_elmo.export import export_saved_model
    from keras_elmo.export.saved_model import check_arguments, needs_tensorflow_text, operations

    if options.version_number < 0:
        raise ValueError(
            "The version must be a whole number. "
            f"Received: --version-number {options.version_number}"
        )
    path = os.path.join(options.folder, str(options.version_number))
    names = ("ops", "storage", "max_tokens", "max_batch_size", "overwrite")
    arguments = {name: getattr(options, name) for name in names}
    check_arguments(path, **arguments)  # before a model is loaded
    export_saved_model(
        load_any_model(options),
        path,
        pooled_only=options.pooled_only,
        warmup_texts=_WARMUP if options.warmup else None,
        **arguments,
    )
    if not options.quiet:
        files = [os.path.join(root, name) for root, _, names in os.walk(path) for name in names]
        size = sum(map(os.path.getsize, files))
        print(f"{path}: {size / 1e6:,.1f} MB", file=sys.stderr)
        need = "with TensorFlow alone"
        if needs_tensorflow_text(operations(path)):
            need = "after `import tensorflow_text`; with --ops core, TensorFlow is enough"
        print(f"Python loads it {need}", file=sys.stderr)
