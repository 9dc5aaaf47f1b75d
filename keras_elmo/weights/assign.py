"""`assign_weights`: from the datasets of a file to the variables of layers, after a full check."""

import numpy as np

from keras_elmo.checks import first_lines
from keras_elmo.weights import layout

# The errors that h5py raises for a damaged file. Which one depends on where the damage is.
READ_ERRORS = (OSError, KeyError, RuntimeError, TypeError, ValueError)


def assign_weights(datasets, entries, where, part_of=layout.part_of):
    """Fills the variables of a table's `entries`, or raises one error for all faults first.

    Datasets of parts that the table lacks (see `part_of`) are ignored.
    """
    faults = [fault for entry in entries if (fault := _fault(entry, datasets.get(entry.name)))]
    used_names = {entry.name for entry in entries}
    parts = set(map(part_of, used_names))
    faults += [
        f"not used: {name}, shape {datasets[name].shape}"
        for name in sorted(datasets.keys() - used_names)
        if part_of(name) in parts
    ]
    if faults:
        raise ValueError(
            f"{where} does not hold the weights of this model; nothing was changed. Check that "
            "the options and the weights belong together, and that the file is whole:\n  "
            + first_lines(faults)
        )
    # Each dataset is read a second time, since keeping the first would double the memory.
    for entry in entries:
        for variable, selection, convert in entry.pieces:
            values = _read(datasets[entry.name], selection)
            values = values if convert is None else convert(values)
            variable.assign(values.reshape(variable.shape))


def _read(dataset, selection):
    with np.errstate(over="ignore"):  # a float64 beyond float32 becomes infinity: a fault
        return np.asarray(dataset[selection], np.float32)


def _fault(entry, dataset):
    """What is wrong with the dataset of an entry, or `None`."""
    if dataset is None:
        return f"missing: {entry.name}, expected shape {entry.shape}"
    try:
        if dataset.shape != entry.shape:
            return f"shape: {entry.name}, expected {entry.shape}, in the file {dataset.shape}"
        if dataset.dtype.kind != "f":
            return f"dtype: {entry.name}, expected float32, in the file {dataset.dtype}"
        if not all(_is_finite(_read(dataset, selection)) for _, selection, _ in entry.pieces):
            return f"values: {entry.name} holds NaN or infinity"
    except READ_ERRORS as error:
        return f"damaged: {entry.name}; copy or download the file again ({error})"
    return None


def _is_finite(array):
    # NaN passes through the minimum and the maximum, so no second array is needed.
    return array.size == 0 or np.isfinite([array.min(), array.max()]).all()
