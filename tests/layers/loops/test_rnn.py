"""`RNNLoop` against the gate equations in NumPy. The other loops are compared with `RNNLoop`."""

import numpy as np
import pytest
import tensorflow as tf
from layers.loops.cases import make_inputs, make_layers, make_mask
from reference import Reference

from keras_elmo.layers.loops.rnn import RNNLoop


def numpy_direction(cell, tokens, state):
    """The outputs and the last state of a cell over the tokens in its order of reading."""
    options = {
        "dim": cell.units,
        "projection_dim": cell.output_size,
        "cell_clip": cell.cell_clip,
        "proj_clip": cell.projection_clip,
    }
    prefix = "RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell"
    kernels = [cell.kernel.numpy(), cell.recurrent_kernel.numpy()]
    weights = {f"{prefix}/W_0": np.concatenate(kernels), f"{prefix}/B": cell.bias.numpy()}
    if cell.projection_kernel is not None:
        weights[f"{prefix}/W_P_0"] = cell.projection_kernel.numpy()
    reference = Reference({"lstm": options, "char_cnn": {}}, weights)
    return reference.direction(0, 0, tokens, state)


@pytest.mark.parametrize("seed", range(8))
def test_each_row_is_the_equations_over_its_real_tokens(seed):
    layers, mask = make_layers(seed), make_mask(seed)
    inputs, states = make_inputs(layers, mask, seed)
    loop = RNNLoop(tf.constant(mask))
    outputs, final_states = loop.run_layer(layers, loop.enter(inputs), states)
    for k, layer in enumerate(layers):
        for row, is_real in enumerate(mask):
            places = np.flatnonzero(is_real)[:: -1 if layer.go_backwards else 1]
            state = [tensor[row].numpy() for tensor in states[k]]
            expected, expected_state = numpy_direction(
                layer.cell, inputs[k][row].numpy()[places], state
            )
            np.testing.assert_allclose(outputs[k][row].numpy()[places], expected, atol=1e-6)
            assert not np.any(outputs[k][row].numpy()[~is_real])
            for one, other in zip(final_states[k], expected_state, strict=True):
                np.testing.assert_allclose(one[row], other, atol=1e-6)
