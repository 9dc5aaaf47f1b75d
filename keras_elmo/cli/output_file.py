"""Checks of the file that a subcommand is to write."""

import os

from keras_elmo.cli.model_argument import model_source


def is_same_file(path, other):
    """Whether two paths are one existing file or folder."""
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)


def check_overwrite(output, overwrite, option="--output"):
    """Raises an error if an output exists and is not to be replaced."""
    if os.path.isfile(output) and not overwrite:
        raise FileExistsError(
            f"{output} exists already; give --overwrite to replace it, or another {option}"
        )


def check_output(output, model, overwrite):
    """Raises an error if an output would replace a file, or lie in the model's folder.

    Args:
        output: the path to write.
        model: the model as it is typed.
        overwrite: bool.
    """
    folder = os.path.dirname(os.path.abspath(output))
    source = model_source(model)
    files = [] if isinstance(source, str) else source
    is_in_folder = os.path.isdir(model) and is_same_file(folder, model)
    if is_in_folder or any(is_same_file(file, output) for file in files):
        raise ValueError(
            "The output must not lie in the model's folder, where it could replace the weights."
            f" Received: --output {output}"
        )
    check_overwrite(output, overwrite)
