"""The argument MODEL of the subcommands: its help, and opening the model that it names."""

import contextlib
import os
import sys

from keras_elmo.text import tokenizers
from keras_elmo.weights import sources

MODEL_HELP = (
    "tiny (in the package), a published name, a folder, a zip, or OPTIONS,WEIGHTS: two files with "
    "a comma between them"
)


def add_tokenizer_argument(parser):
    """Adds the option that says how the model splits text."""
    parser.add_argument(
        "-t",
        "--tokenizer",
        default="whitespace",
        choices=list(tokenizers.TOKENIZERS),
        help="whitespace (default) for text that is tokenised; treebank for raw prose; space: "
        "the ASCII space alone, as TF Hub's module does",
    )


def model_source(name):
    """What `from_pretrained` takes for a model as it is typed: the name, or a pair of paths."""
    options, comma, weights = name.partition(",")
    if not comma or os.path.exists(name):
        return name
    return options, weights


@contextlib.contextmanager
def open_model(name):
    """Finds a model and reads its options, so that an error appears before the weights are loaded.

    Args:
        name: the model as it is typed.

    Yields:
        Its `ElmoConfig`, its weights as `open_model` gives them, and what `Elmo.from_pretrained`
        takes.
    """
    source = model_source(name)
    with contextlib.ExitStack() as stack:
        with contextlib.redirect_stdout(sys.stderr):  # a download prints its progress
            config, weights = stack.enter_context(sources.open_model(source))
        if not isinstance(weights, str | os.PathLike):
            source = config.to_options(), weights  # from a zip, which is not to be read again
        elif not os.path.exists(weights):
            raise FileNotFoundError(f"There is no weight file {weights}")
        yield config, weights, source
