"""Write a SavedModel for TensorFlow Serving.

Writes a SavedModel that takes raw strings, as DIR/1 (a number, as TensorFlow Serving wants it). An
Elmo has the signatures default, serving_default, tokens, and one for each output; what `classify
train` and `tag train` wrote gives labels and tags.

    keras-elmo export tiny served/elmo --max-tokens 200
    keras-elmo export reviews.keras served/reviews --ops core
"""

import os

from keras_elmo_cli.inputs import chosen, load_any_model, report
from keras_elmo_cli.options import ANY_MODEL_HELP, COUNT, SWITCH, at_least

_WARMUP = ["The cat sat on the mat .", "Warm", " ".join(["word"] * 50)]


def add_arguments(parser):
    add = parser.add_argument
    add("model", metavar="MODEL", help=ANY_MODEL_HELP)
    add("folder", metavar="DIR", help="the model's folder; a version goes into it")
    add("--version-number", **at_least(0), default=1, help="(default: %(default)s)")
    parser.add_shared("--tokenizer", "--matmul-dtype")
    add(
        "--ops",
        default="tensorflow-text",
        choices=("tensorflow-text", "core"),
        help="core: programs in Python load the model with TensorFlow alone; tensorflow-text: they "
        "must import tensorflow_text first (default: %(default)s)",
    )
    help = "dtype of the stored weights (default: float32)"
    add("--storage", choices=("float32", "bfloat16", "float16"), help=help)
    add("--pooled-only", **SWITCH, help="only the mean vector of each sentence")
    add("--max-tokens", **COUNT, help="refuse sentences of more tokens")
    add("--warmup", **SWITCH, help="add a warm-up request (needs tensorflow-serving-api)")
    add(
        "--max-batch-size",
        **COUNT,
        help="add batching_params.pbtxt: requests are put together up to N sentences",
    )
    parser.add_shared("--overwrite", "--quiet")


def run(options):
    from keras_elmo.export import export_saved_model
    from keras_elmo.export.saved_model import (
        check_arguments,
        operations,
        tensorflow_text_operations,
    )

    path = os.path.join(options.folder, str(options.version_number))
    arguments = chosen(options, "ops", "storage", "max_tokens", "max_batch_size", "overwrite")
    check_arguments(path, **arguments)  # before a model is loaded
    export_saved_model(
        load_any_model(options),
        path,
        pooled_only=options.pooled_only,
        warmup_texts=_WARMUP if options.warmup else None,
        **arguments,
    )
    if options.quiet:
        return
    files = [os.path.join(root, name) for root, _, names in os.walk(path) for name in names]
    report(options, f"{path}: {sum(map(os.path.getsize, files)) / 1e6:,.1f} MB")
    need = "with TensorFlow alone"
    if tensorflow_text_operations(operations(path)):
        need = "after `import tensorflow_text`; with --ops core, TensorFlow is enough"
    report(options, f"Python loads it {need}")
