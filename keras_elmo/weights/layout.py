"""ONE table: the datasets of the original weight files, and the variables that they fill.

A dataset holds its variables one after another, in C order, and the table is all there is to say:
the convolutions' kernels have one more axis in the files (TensorFlow 1's 2-D convolution), and the
two kernels of a cell share a dataset (the rows of the input, then of the recurrence). Gates are
ordered i, j, f, o in the files as in the variables. The padding character has no row in the files
and none in the variables; the forget bias of 1 is in neither (see `layers/projected_lstm.py`).
"""

from typing import NamedTuple


class Dataset(NamedTuple):
    """A dataset of the file, and the variables that it holds one after another.

    Attributes:
        name: its path in the file.
        shape: its shape there.
        variables: the Keras variables.
    """

    name: str
    shape: tuple
    variables: list

    def pieces(self):
        """For each variable, where it is in the dataset: `(variable, selection)`.

        `dataset[selection]` has the variable's values in their order.
        """
        if self.shape != (sum(v.shape[0] for v in self.variables), *self.variables[0].shape[1:]):
            return [(self.variables[0], ())]  # one, of which the dataset has one more axis
        ends = [0]
        for variable in self.variables:
            ends.append(ends[-1] + variable.shape[0])
        slices = map(slice, ends[:-1], ends[1:])
        return list(zip(self.variables, slices, strict=True))


def table(character_encoder=None, bilm=None, softmax=None):
    """The datasets of a model, or of a part.

    Args:
        character_encoder: a built `CharCNNEmbedding`, or `None` to leave that part out.
        bilm: a built `BiLM`, or `None`.
        softmax: a built `Softmax`, or `None`. It is in no published file, but in checkpoints.

    Returns:
        A list of `Dataset`s, in the original's order.
    """
    parts = [(_character_encoder, character_encoder), (_bilm, bilm), (_softmax, softmax)]
    return [row for rows, part in parts if part is not None for row in rows(part)]


def _same(name, variable):
    return Dataset(name, tuple(variable.shape), [variable])


def _character_encoder(encoder):
    yield _same("char_embed", encoder.character_embedding)
    pairs = zip(encoder.convolution_kernels, encoder.convolution_biases, strict=True)
    for i, (kernel, bias) in enumerate(pairs):
        yield Dataset(f"CNN/W_cnn_{i}", (1, *kernel.shape), [kernel])
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
            kernels = [cell.kernel, cell.recurrent_kernel]
            rows = sum(kernel.shape[0] for kernel in kernels)
            yield Dataset(f"{prefix}/W_0", (rows, cell.kernel.shape[1]), kernels)
            yield _same(f"{prefix}/B", cell.bias)
            if cell.projection_kernel is not None:
                yield _same(f"{prefix}/W_P_0", cell.projection_kernel)


def _softmax(softmax):
    yield _same("softmax/W", softmax.kernel)
    yield _same("softmax/b", softmax.bias)
