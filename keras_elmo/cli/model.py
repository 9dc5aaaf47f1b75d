"""What the subcommands that load a model have in common."""

from keras_elmo.cli.quiet import quiet_import

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
    with quiet_import():
        import tensorflow as tf

        from keras_elmo.models import Elmo

        tf.config.list_physical_devices()  # has its own to say when it looks for a GPU
    return Elmo
