"""ONE table: the datasets of the original weight files, and the variables that they fill.

Every quirk of the files is here: the convolutions' extra axis, the two kernels of a cell in one
dataset (rows of the input first, then of the recurrence), the directions' numbers. Gates are
ordered i, j, f, o in the files as in the variables. The padding character has no row in the files
and none in the variables; the forget bias of 1 is in neither (see `layers/projected_lstm.py`).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np


class Dataset(NamedTuple):
    """A dataset of the file, and the variables that it fills.

    Attributes:
        name: its path in the file.
        shape: its shape there.
        variables: the Keras variables.
        split: array of `shape` -> a list of arrays, one a variable (views where possible).
        join: the inverse of `split`.
    """

    name: str
    shape: tuple
    variables: list
    split: Callable
    join: Callable

    @property
    def size(self):
        """Number of values."""
        return math.prod(self.shape)


def table(character_encoder=None, bilm=None):
    """The datasets of a model, or of a part.

    Args:
        character_encoder: a built `CharCNNEmbedding`, or `None` to leave that part out.
        bilm: a built `BiLM`, or `None`.

    Returns:
        A list of `Dataset`s, in the original's order.
    """
    rows = [] if character_encoder is None else list(_character_encoder(character_encoder))
    return rows + ([] if bilm is None else list(_bilm(bilm)))


def _same(name, variable):
    return Dataset(
        name, tuple(variable.shape), [variable], lambda array: [array], lambda arrays: arrays[0]
    )


def _character_encoder(encoder):
    yield _same("char_embed", encoder.character_embedding)
    pairs = zip(encoder.convolution_kernels, encoder.convolution_biases, strict=True)
    for i, (kernel, bias) in enumerate(pairs):
        # TensorFlow 1's 2-D convolution over an axis of one.
        yield Dataset(
            f"CNN/W_cnn_{i}",
            (1, *kernel.shape),
            [kernel],
            lambda array: [array[0]],
            lambda arrays: arrays[0][np.newaxis],
        )
        yield _same(f"CNN/b_cnn_{i}", bias)
    for i, layer in enumerate(encoder.highway_layers):
        yield _same(f"CNN_high_{i}/W_carry", layer.carry_kernel)
        yield _same(f"CNN_high_{i}/b_carry", layer.carry_bias)
        yield _same(f"CNN_high_{i}/W_transform", layer.transform_kernel)
        yield _same(f"CNN_high_{i}/b_transform", layer.transform_bias)
    if encoder.projection_dim is not None:
        yield _same("CNN_proj/W_proj", encoder.projection_kernel)
        yield _same("CNN_proj/b_proj", encoder.projection_bias)


def _bilm(bilm):
    for number, direction in enumerate(("forward", "backward")):
        for layer, cell in enumerate(bilm.cells(direction)):
            prefix = f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            inputs, gates = cell.kernel.shape
            yield Dataset(
                f"{prefix}/W_0",
                (inputs + cell.recurrent_kernel.shape[0], gates),
                [cell.kernel, cell.recurrent_kernel],
                lambda array, rows=inputs: [array[:rows], array[rows:]],
                np.concatenate,
            )
            yield _same(f"{prefix}/B", cell.bias)
            if cell.projection_kernel is not None:
                yield _same(f"{prefix}/W_P_0", cell.projection_kernel)
