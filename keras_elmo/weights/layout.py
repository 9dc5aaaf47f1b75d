"""One table: the datasets of the original weight files, and the variables that they fill.

A dataset holds one variable, or several variables one after another, in C order. Two kinds of
dataset differ from the variables:

- The kernel of a convolution has one more axis in the file, for TensorFlow 1's 2-D convolution.
- The two kernels of an LSTM cell share a dataset: first the rows that the input is multiplied
  with, then the rows for the previous output.

The gates are ordered i, j, f, o, in the files and in the variables. The padding character has a
row in neither of them, and the forget bias of 1 is in neither (see `layers/projected_lstm.py`). A
model with a table of words has one more dataset, `word_embed`, which the original does not know.
"""

from typing import NamedTuple


class WeightEntry(NamedTuple):
    """One row of a table: a dataset's path in its file, its shape, and the variables in it.

    Each of the pieces is a triple `(variable, selection, convert)`: `convert(dataset[selection])`
    holds the values of the variable, in its order. `convert` may be `None`.
    """

    name: str
    shape: tuple
    pieces: list


def weight_table(character_encoder=None, bilm=None, softmax=None, mixes=()):
    """The `WeightEntry`s of the parts that are not `None`, in the original's order.

    Checkpoints hold a softmax, which has a file of its own beside a weight file. Only modules of
    TensorFlow Hub hold a mix.
    """
    parts = [
        (_character_encoder_entries, character_encoder),
        (_bilm_entries, bilm),
        (_softmax_entries, softmax),
    ]
    parts += [(_mix_entries, mix) for mix in mixes]
    return [entry for entries, part in parts if part is not None for entry in entries(part)]


def entry_like(name, variable):
    """The entry of a dataset that has the same shape as its only variable."""
    return WeightEntry(name, tuple(variable.shape), [(variable, (), None)])


def part_of(name):
    """The part of a model, a str, to which a dataset of this name belongs."""
    if name.startswith("RNN"):
        return "bilm"
    root = name.partition("/")[0]
    return root if root in ("softmax", "mix") else "character_encoder"


def _character_encoder_entries(encoder):
    yield entry_like("char_embed", encoder.character_embedding)
    if encoder.num_words is not None:
        yield entry_like("word_embed", encoder.word_embedding)
    pairs = zip(encoder.convolution_kernels, encoder.convolution_biases, strict=True)
    for i, (kernel, bias) in enumerate(pairs):
        yield WeightEntry(f"CNN/W_cnn_{i}", (1, *kernel.shape), [(kernel, (), None)])
        yield entry_like(f"CNN/b_cnn_{i}", bias)
    for i, layer in enumerate(encoder.highway_layers):
        yield entry_like(f"CNN_high_{i}/W_carry", layer.carry_kernel)
        yield entry_like(f"CNN_high_{i}/b_carry", layer.carry_bias)
        yield entry_like(f"CNN_high_{i}/W_transform", layer.transform_kernel)
        yield entry_like(f"CNN_high_{i}/b_transform", layer.transform_bias)
    if encoder.projection_dim is not None:
        yield entry_like("CNN_proj/W_proj", encoder.projection_kernel)
        yield entry_like("CNN_proj/b_proj", encoder.projection_bias)


def _bilm_entries(bilm):
    for k, direction in enumerate(("forward", "backward")):
        for layer, cell in enumerate(bilm.cells(direction)):
            prefix = f"RNN_{k}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            (inputs, gates), (outputs, _) = cell.kernel.shape, cell.recurrent_kernel.shape
            pieces = [
                (cell.kernel, slice(0, inputs), None),
                (cell.recurrent_kernel, slice(inputs, inputs + outputs), None),
            ]
            yield WeightEntry(f"{prefix}/W_0", (inputs + outputs, gates), pieces)
            yield entry_like(f"{prefix}/B", cell.bias)
            if cell.projection_kernel is not None:
                yield entry_like(f"{prefix}/W_P_0", cell.projection_kernel)


def _softmax_entries(softmax):
    yield entry_like("softmax/W", softmax.kernel)
    yield entry_like("softmax/b", softmax.bias)


def _mix_entries(mix):
    yield entry_like("mix/weights", mix.scalars)
    yield entry_like("mix/scaling", mix.gamma)
