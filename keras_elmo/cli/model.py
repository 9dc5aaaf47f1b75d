"""What the subcommands that load a model have in common."""

from keras_elmo.quiet import find_devices, hide_tensorflow_log

MODEL = "tiny (in the package), a published name, a folder or a zip"


def add_tokenizer(parser):
    parser.add_argument(
        "-t",
        "--tokenizer",
        default="whitespace",
        choices=["whitespace", "treebank", "space"],
        help="whitespace (default) for text that is tokenised; treebank for raw prose; space: "
        "the ASCII space alone, as TF Hub's module does",
    )


def import_elmo():
    """The class `Elmo`, without what TensorFlow says as it loads."""
    with hide_tensorflow_log():
        from keras_elmo.models import Elmo
    find_devices()
    return Elmo
