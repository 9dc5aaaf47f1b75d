"""What the subcommands that load a model have in common."""

import contextlib
import os
import sys

from keras_elmo.quiet import find_devices, hide_tensorflow_log

MODEL = (
    "tiny (in the package), a published name, a folder, a zip, or OPTIONS,WEIGHTS: two files with "
    "a comma between them"
)


def add_tokenizer(parser):
    parser.add_argument(
        "-t",
        "--tokenizer",
        default="whitespace",
        choices=["whitespace", "treebank", "space"],
        help="whitespace (default) for text that is tokenised; treebank for raw prose; space: "
        "the ASCII space alone, as TF Hub's module does",
    )


def source_of(name):
    """What `from_pretrained` takes for a model as it is typed: the name, or a pair of paths."""
    options, comma, weights = name.partition(",")
    if not comma or os.path.exists(name):
        return name
    return options, weights


def is_same(path, other):
    """Whether two paths are one existing file or folder."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def check_output(output, name, overwrite):
    """Raises an error where an output would replace a file, or fall into the model's folder.

    Args:
        output: the path to write.
        name: the model as it is typed.
        overwrite: bool.
    """
    folder = os.path.dirname(os.path.abspath(output))
    source = source_of(name)
    files = [] if isinstance(source, str) else source
    if (os.path.isdir(name) and is_same(folder, name)) or any(is_same(x, output) for x in files):
        raise ValueError(
            "The output must not lie in the model's folder, where it could replace the weights."
            f" Received: --output {output}"
        )
    check_overwrite(output, overwrite)


def check_overwrite(output, overwrite, option="--output"):
    """Raises an error where an output exists and is not to be replaced."""
    if os.path.isfile(output) and not overwrite:
        raise FileExistsError(
            f"{output} exists already; give --overwrite to replace it, or another {option}"
        )


@contextlib.contextmanager
def opened(name):
    """Finds a model and reads its options, without TensorFlow: what is wrong is said at once.

    Args:
        name: the model as it is typed.

    Yields:
        Its `ElmoConfig`, its weights as `open_model` gives them, and what `Elmo.from_pretrained`
        takes.
    """
    from keras_elmo.weights import presets, sources

    source = source_of(name)
    if source in presets.PRESETS and not os.path.exists(source):
        with hide_tensorflow_log():
            import keras  # noqa: F401, to download with
    with contextlib.ExitStack() as stack:
        with contextlib.redirect_stdout(sys.stderr):  # a download tells of its progress
            config, weights = stack.enter_context(sources.open_model(source))
        if not isinstance(weights, str | os.PathLike):
            source = config.to_options(), weights  # out of a zip, which is not to be read again
        elif not os.path.exists(weights):
            raise FileNotFoundError(f"There is no weight file {weights}")
        yield config, weights, source


def import_elmo():
    """The class `Elmo`, without what TensorFlow says as it loads."""
    with hide_tensorflow_log():
        from keras_elmo.models import Elmo
    find_devices()
    return Elmo
