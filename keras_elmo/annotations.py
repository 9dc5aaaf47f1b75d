"""What the public functions take and return, for their type hints.

Keras and TensorFlow have no types that a checker reads, so tensors are `Any` in results.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt


class HasArray(Protocol):
    """A NumPy array, a column of pandas or polars, or a tensor with values."""

    def __array__(self) -> Any: ...


class HasShape(Protocol):
    """A tensor, ragged and symbolic ones too."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


AnyPath = str | os.PathLike[str]
Array = npt.NDArray[np.float32]
Sentence = str | bytes | Sequence[str] | Sequence[bytes] | HasArray
# What `keras_elmo.strings` takes, and what is read sentence by sentence.
Texts = Sequence[Sentence] | str | bytes | HasArray | HasShape
Sentences = Iterable[Sentence] | HasArray | HasShape
Source = AnyPath | Sequence[AnyPath]  # of a pretrained model
Options = AnyPath | Mapping[str, Any]  # in the spelling of options.json
LayerSpec = str | SupportsIndex  # an element of `layers`
Labels = Sequence[Any] | HasArray | HasShape
