"""`VectorColumn`: the columns of vectors that a run writes, one for each chosen layer."""

from typing import NamedTuple

import numpy as np

from keras_elmo.checks import shown
from keras_elmo.models.embed_stream import parse_layers


class VectorColumn(NamedTuple):
    """A column of vectors.

    Attributes:
        name: str. `"layer_0"`, `"layer_1"`, ... for the number of a layer; else what was chosen.
        choice: what `Elmo.embed` takes as `layers`.
        size: int. The length of a vector.
    """

    name: str
    choice: object
    size: int


def vector_columns(config, layers, num_mixes=1):
    """The columns of a choice of layers.

    Args:
        config: the `ElmoConfig` of the model.
        layers: what `Elmo.embed` takes, or a list of that; but not `"default"`. `"all"` is a column
            for each layer.
        num_mixes: int. The learned mixes of the model.

    Returns:
        list of `VectorColumn`s.

    Raises:
        ValueError: `layers` is not as said above, or names a column twice.
    """
    columns = []
    for choice in parse_layers(config, layers, num_mixes):
        if choice == "default":
            raise ValueError(
                '`layers` must not be "default" here: choose `pooled` and the layer "elmo", which '
                'give the same vectors. Received: layers="default"'
            )
        count = config.num_layers + 1
        for each in range(count) if choice == "all" else [choice]:
            name = each if isinstance(each, str) else f"layer_{each % count}"
            size = config.projection_dim if each == "word_emb" else config.output_dim
            columns.append(VectorColumn(name, each, size))
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise ValueError(
            f"`layers` must name each layer once. Received: layers={shown(layers)}, which are the "
            f"columns {', '.join(names)}"
        )
    return columns


def as_dtype(vectors, dtype, name):
    """Vectors in the dtype of a column.

    Args:
        vectors: float32 array.
        dtype: `"float32"` or `"float16"`.
        name: str. The column, which the error names.

    Raises:
        ValueError: a number does not fit into float16.
    """
    with np.errstate(over="ignore"):
        converted = vectors.astype(dtype, copy=False)
    if dtype == "float16" and (np.isinf(converted) & np.isfinite(vectors)).any():
        raise ValueError(
            f"The vectors of {name} must fit into float16, whose largest number is 65,504; "
            f"write them as float32. Received: {np.abs(vectors[np.isfinite(vectors)]).max():,.0f}"
        )
    return converted
