"""One table: the datasets of ELMoForManyLangs' files, and the variables that they fill.

It stands beside that of the original (`layout.py`), and goes one way, from the files to the
variables. PyTorch's names and shapes differ in this:

- Every kernel is transposed, since PyTorch's layers compute `x W^T`.
- A highway layer has one dataset: the rows of the transformed input, then those of a gate that
  opens for the *unchanged* input. Ours opens for the transformed one, so that gate is negated.
- The gates are ordered i, f, j, o. The bias is all that the forget gate gets, and ours lacks the
  forget bias of 1 (see `layers/projected_lstm.py`).
"""

from typing import NamedTuple

import numpy as np

from keras_elmo.layers.projected_lstm import FORGET_BIAS

TOKEN_EMBEDDER_FILE = "token_embedder.pkl"
ENCODER_FILE = "encoder.pkl"  # of the LSTMs


class TorchEntry(NamedTuple):
    """One row of the table of ELMoForManyLangs.

    Attributes:
        name: str. The file, a slash, and the dataset's name in its state dict.
        shape: tuple. The dataset's shape.
        parts: list of triples `(variable, selection, convert)`: `convert(dataset[selection])` are
            the values of the variable, transposed.
    """

    name: str
    shape: tuple
    parts: list

    def pieces(self):
        """See `WeightEntry.pieces`."""
        return [(variable, selection) for variable, selection, _ in self.parts]

    def converted(self, variable, values):
        """See `WeightEntry.converted`."""
        (convert,) = (convert for own, _, convert in self.parts if own is variable)
        return convert(values).T


def manylangs_table(character_encoder=None, bilm=None):
    """The table of ELMoForManyLangs, whose files hold no softmax; see `weight_table`."""
    parts = [(_manylangs_encoder_entries, character_encoder), (_manylangs_bilm_entries, bilm)]
    return [entry for entries, part in parts if part is not None for entry in entries(part)]


def manylangs_part_of(name):
    """The file of a dataset: each part of a model has its own."""
    return name.partition("/")[0]


def _torch_entry(name, variable, convert=np.asarray):
    """The entry of a dataset that holds one variable, transposed."""
    return TorchEntry(name, tuple(variable.shape[::-1]), [(variable, (), convert)])


def _manylangs_encoder_entries(encoder):
    def entry(name, variable, convert=np.asarray):
        return _torch_entry(f"{TOKEN_EMBEDDER_FILE}/{name}", variable, convert)

    def table(name, variable):
        # The tables of embeddings are the only matrices that are not transposed.
        return entry(name, variable, np.transpose)._replace(shape=tuple(variable.shape))

    if encoder.num_words is not None:
        yield table("word_emb_layer.embedding.weight", encoder.word_embedding)
    yield table("char_emb_layer.embedding.weight", encoder.character_embedding)
    pairs = zip(encoder.convolution_kernels, encoder.convolution_biases, strict=True)
    for i, (kernel, bias) in enumerate(pairs):
        yield entry(f"convolutions.{i}.weight", kernel)
        yield entry(f"convolutions.{i}.bias", bias)
    for i, layer in enumerate(encoder.highway_layers):
        for name, transform, carry in [
            ("weight", layer.transform_kernel, layer.carry_kernel),
            ("bias", layer.transform_bias, layer.carry_bias),
        ]:
            rows = transform.shape[-1]
            yield TorchEntry(
                f"{TOKEN_EMBEDDER_FILE}/highways._layers.{i}.{name}",
                (2 * rows, *transform.shape[:-1]),
                [
                    (transform, slice(0, rows), np.asarray),
                    (carry, slice(rows, 2 * rows), np.negative),
                ],
            )
    yield entry("projection.weight", encoder.projection_kernel)
    yield entry("projection.bias", encoder.projection_bias)


def _manylangs_bilm_entries(bilm):
    for direction in ("forward", "backward"):
        for layer, cell in enumerate(bilm.cells(direction)):
            prefix = f"{ENCODER_FILE}/{direction}_layer_{layer}"
            yield _torch_entry(f"{prefix}.input_linearity.weight", cell.kernel, _own_gates)
            yield _torch_entry(
                f"{prefix}.state_linearity.weight", cell.recurrent_kernel, _own_gates
            )
            yield _torch_entry(f"{prefix}.state_linearity.bias", cell.bias, _own_bias)
            yield _torch_entry(f"{prefix}.state_projection.weight", cell.projection_kernel)


def _own_gates(rows):
    """The rows of the gates i, f, j, o in the order i, j, f, o."""
    i, f, j, o = np.split(rows, 4)
    return np.concatenate([i, j, f, o])


def _own_bias(rows):
    i, f, j, o = np.split(rows, 4)
    # With the subtraction in float64 there is one rounding.
    return np.concatenate([i, j, (f.astype(np.float64) - FORGET_BIAS).astype(f.dtype), o])
