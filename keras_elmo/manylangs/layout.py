"""One table: the datasets of ELMoForManyLangs' files, and the variables that they fill.

It stands beside that of the original (`layout.py`), and goes one way, from the files to the
variables. PyTorch's names and shapes differ in this:

- Every kernel is transposed, since PyTorch's layers compute `x W^T`.
- A highway layer has one dataset: the rows of the transformed input, then those of a gate that
  opens for the *unchanged* input. Ours opens for the transformed one, so that gate is negated.
- The gates are ordered i, f, j, o. The bias is all that the forget gate gets, and ours lacks the
  forget bias of 1 (see `layers/projected_lstm.py`).
"""

import numpy as np

from keras_elmo.layers.projected_lstm import FORGET_BIAS
from keras_elmo.weights.layout import WeightEntry, entry_like

TOKEN_EMBEDDER_FILE = "token_embedder.pkl"
ENCODER_FILE = "encoder.pkl"  # of the LSTMs


def manylangs_table(character_encoder=None, bilm=None):
    """The table of the files' state dicts: `FILE/NAME` is the name of an entry."""
    parts = [
        (TOKEN_EMBEDDER_FILE, _encoder_entries, character_encoder),
        (ENCODER_FILE, _bilm_entries, bilm),
    ]
    return [
        entry._replace(name=f"{file}/{entry.name}")
        for file, entries, part in parts
        if part is not None
        for entry in entries(part)
    ]


def _transposed_entry(name, variable, convert=np.transpose):
    return WeightEntry(name, tuple(variable.shape[::-1]), [(variable, (), convert)])


def _encoder_entries(encoder):
    # The tables of embeddings are the only matrices that are not transposed.
    if encoder.num_words is not None:
        yield entry_like("word_emb_layer.embedding.weight", encoder.word_embedding)
    yield entry_like("char_emb_layer.embedding.weight", encoder.character_embedding)
    pairs = zip(encoder.convolution_kernels, encoder.convolution_biases, strict=True)
    for i, (kernel, bias) in enumerate(pairs):
        yield _transposed_entry(f"convolutions.{i}.weight", kernel)
        yield _transposed_entry(f"convolutions.{i}.bias", bias)
    for i, layer in enumerate(encoder.highway_layers):
        for name, transform, carry in [
            ("weight", layer.transform_kernel, layer.carry_kernel),
            ("bias", layer.transform_bias, layer.carry_bias),
        ]:
            rows = transform.shape[-1]
            yield WeightEntry(
                f"highways._layers.{i}.{name}",
                (2 * rows, *transform.shape[:-1]),
                [
                    (transform, slice(0, rows), np.transpose),
                    (carry, slice(rows, 2 * rows), lambda values: -values.T),
                ],
            )
    yield _transposed_entry("projection.weight", encoder.projection_kernel)
    yield _transposed_entry("projection.bias", encoder.projection_bias)


def _bilm_entries(bilm):
    for direction in ("forward", "backward"):
        for layer, cell in enumerate(bilm.cells(direction)):
            prefix = f"{direction}_layer_{layer}"
            for name, variable, convert in [
                ("input_linearity.weight", cell.kernel, _own_gates),
                ("state_linearity.weight", cell.recurrent_kernel, _own_gates),
                ("state_linearity.bias", cell.bias, _own_bias),
                ("state_projection.weight", cell.projection_kernel, np.transpose),
            ]:
                yield _transposed_entry(f"{prefix}.{name}", variable, convert)


def _own_gates(rows):
    """The rows of the gates i, f, j, o as columns in the order i, j, f, o."""
    i, f, j, o = np.split(rows.T, 4, axis=-1)
    return np.concatenate([i, j, f, o], axis=-1)


def _own_bias(rows):
    i, f, j, o = np.split(rows, 4)
    # With the subtraction in float64 there is one rounding.
    return np.concatenate([i, j, (f.astype(np.float64) - FORGET_BIAS).astype(f.dtype), o])
