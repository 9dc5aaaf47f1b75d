"""Files for TensorBoard's projector, which shows vectors in three dimensions in a browser."""

import os
import pathlib

import numpy as np

from keras_elmo.analysis.occurrences import check_labels
from keras_elmo.checks import check_integers, printable
from keras_elmo.files.atomic import replacing_folder


def write_projector(occurrences, folder, layers=None, labels=None, tsv=False, overwrite=False):
    """Writes what `find_occurrences` gives to a folder: a tensor for each of `layers` (or of all).

    `projector_config.pbtxt` names the other files; `layer_1.bytes`, ... are float32, (occurrences,
    D), or with `tsv` text; `metadata.tsv` has the token, the sentence and the label of each point.
    """
    check_labels(labels, len(occurrences))
    check_integers(0, **{f"layers[{k}]": layer for k, layer in enumerate(layers or ())})
    check_folder(folder, overwrite)
    layers = range(len(occurrences.vectors)) if layers is None else layers
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
        metadata = _metadata(occurrences, labels)
        for name, lines in ("metadata.tsv", metadata), ("projector_config.pbtxt", config):
            (temporary / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def check_folder(folder, overwrite):
    """Raises a `FileExistsError` if a folder cannot be written, or should not be replaced."""
    is_empty = os.path.isdir(folder) and not os.listdir(folder)
    is_ours = is_empty or os.path.exists(os.path.join(folder, "projector_config.pbtxt"))
    if os.path.lexists(folder) and not is_ours:
        rule = "must be a new folder, or one with a projector_config.pbtxt"
        raise FileExistsError(f"{folder} {rule}. Received: other files")
    if os.path.lexists(folder) and not overwrite:
        raise FileExistsError(f"{folder} exists already; `overwrite=True` replaces it")


def _metadata(occurrences, labels):
    """The lines of the table of the points, below the names of its columns."""
    rows = [["token", "line", "context"]]
    for k, line in enumerate(occurrences.line_numbers):
        rows.append([occurrences.context(k)[1], str(line), occurrences.short_context(k)])
    if labels is not None:
        rows = [[*row, str(label)] for row, label in zip(rows, ["label", *labels], strict=True)]
    return ["\t".join(printable(cell) or " " for cell in row) for row in rows]
