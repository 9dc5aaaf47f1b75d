"""Files for TensorBoard's projector, which shows vectors in three dimensions in a browser."""

import os
import pathlib

import numpy as np

from keras_elmo.analysis.occurrences import printable
from keras_elmo.checks import check_integers
from keras_elmo.files.atomic import replacing_folder


def write_projector(occurrences, folder, layers=None, labels=None, tsv=False, overwrite=False):
    """Writes the vectors of occurrences, with their contexts, for TensorBoard's projector.

    `tensorboard --logdir FOLDER` shows them under "Projector": one tensor for each layer, and for
    each point its token, its sentence and its label. In the folder are:

    - `projector_config.pbtxt`, which names the other files;
    - `layer_1.bytes`, ...: float32, (occurrences, D), row by row; or `layer_1.tsv`, ..., a row on
      each line, which https://projector.tensorflow.org takes, too;
    - `metadata.tsv`: a line for each occurrence, below the names of the columns.

    Args:
        occurrences: an `Occurrences`, see `find_occurrences`.
        folder: the folder to write. It appears when it is complete.
        layers: sequence of ints, which layers to write; `None`: all.
        labels: sequence of strings, one for each occurrence, such as its sense; or `None`.
        tsv: bool. Write text files, which are larger and slower to read.
        overwrite: bool. Replace an existing folder of such files.

    Raises:
        ValueError: the labels are not one for each occurrence.
        FileExistsError: the folder exists, and is not to be replaced or holds other files.

    Example:

    >>> bank = find_occurrences(elmo, sentences, "bank")
    >>> write_projector(bank, "bank-projector", layers=[1, 2])
    """
    if labels is not None and len(labels) != len(occurrences):
        raise ValueError(
            "There must be one label for each occurrence. "
            f"Received: {len(labels):,} labels for {len(occurrences):,} occurrences"
        )
    check_folder(folder, overwrite)
    layers = range(len(occurrences.vectors)) if layers is None else layers
    check_integers(0, **{f"layers[{k}]": layer for k, layer in enumerate(layers)})
    with replacing_folder(folder, overwrite) as temporary:
        temporary = pathlib.Path(temporary)
        temporary.mkdir()
        config = []
        for layer in layers:
            vectors = np.ascontiguousarray(occurrences.vectors[layer], "<f4")
            name = f"layer_{layer}.{'tsv' if tsv else 'bytes'}"
            if tsv:
                # Nine digits tell all float32 apart.
                np.savetxt(temporary / name, vectors, fmt="%.9g", delimiter="\t")
            else:
                (temporary / name).write_bytes(vectors)  # errors of `tofile` have no errno
            config += [
                "embeddings {",
                f'  tensor_name: "layer {layer}"',
                *(f"  tensor_shape: {size}" for size in vectors.shape),
                f'  tensor_path: "{name}"',
                '  metadata_path: "metadata.tsv"',
                "}",
            ]
        lines = _metadata(occurrences, labels)
        (temporary / "metadata.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        text = "\n".join(config) + "\n"
        (temporary / "projector_config.pbtxt").write_text(text, encoding="utf-8")


def check_folder(folder, overwrite):
    """Raises a `FileExistsError` if a folder cannot be written, or should not be replaced."""
    folder = os.fspath(folder)
    if not os.path.lexists(folder):
        return
    if not os.path.isdir(folder):
        raise FileExistsError(f"{folder} must be a folder, and is a file")
    names = set(os.listdir(folder))
    if names and "projector_config.pbtxt" not in names:
        raise FileExistsError(
            f"{folder} must be a new folder, or one with a projector_config.pbtxt; it holds other "
            "files"
        )
    if not overwrite:
        raise FileExistsError(
            f"{folder} exists already; `overwrite=True` replaces it, or name another folder"
        )


def _metadata(occurrences, labels):
    """The lines of the table of the points."""
    names = ["token", "line", "context", *(["label"] if labels is not None else [])]
    lines = ["\t".join(names)]
    for k in range(len(occurrences)):
        token, line = occurrences.context(k)[1], str(occurrences.line_numbers[k])
        cells = [token, line, occurrences.short_context(k)]
        cells += [] if labels is None else [str(labels[k])]
        lines.append("\t".join(printable(cell) or " " for cell in cells))
    return lines
