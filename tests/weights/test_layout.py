"""The table against the names and shapes of the original's files, written out by hand."""

import numpy as np

from keras_elmo.weights.layout import weight_table


def variables_of(entry):
    return [variable for variable, _, _ in entry.pieces]


def test_the_encoder_in_the_order_of_the_original(parts):
    encoder = parts.character_encoder
    table = weight_table(encoder)
    assert [(entry.name, entry.shape) for entry in table] == [
        ("char_embed", (261, 3)),
        ("CNN/W_cnn_0", (1, 1, 3, 2)),
        ("CNN/b_cnn_0", (2,)),
        ("CNN/W_cnn_1", (1, 2, 3, 3)),
        ("CNN/b_cnn_1", (3,)),
        ("CNN_high_0/W_carry", (5, 5)),
        ("CNN_high_0/b_carry", (5,)),
        ("CNN_high_0/W_transform", (5, 5)),
        ("CNN_high_0/b_transform", (5,)),
        ("CNN_proj/W_proj", (5, 4)),
        ("CNN_proj/b_proj", (4,)),
    ]
    by_name = {entry.name: variables_of(entry) for entry in table}
    assert by_name["char_embed"][0] is encoder.character_embedding
    assert by_name["CNN_high_0/W_carry"][0] is encoder.highway_layers[0].carry_kernel
    assert by_name["CNN_high_0/b_transform"][0] is encoder.highway_layers[0].transform_bias
    assert by_name["CNN/b_cnn_1"][0] is encoder.convolution_biases[1]


def test_a_cell_has_its_kernels_in_one_dataset(parts):
    table = weight_table(bilm=parts.bilm)
    names = [
        f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/{weight}"
        for direction in (0, 1)
        for layer in (0, 1)
        for weight in ("W_0", "B", "W_P_0")
    ]
    assert [entry.name for entry in table] == names
    assert [entry.shape for entry in table] == [(8, 24), (24,), (6, 4)] * 4
    cells = [*parts.bilm.cells("forward"), *parts.bilm.cells("backward")]
    for k, cell in enumerate(cells):
        kernels, bias, projection = (variables_of(entry) for entry in table[3 * k : 3 * k + 3])
        assert kernels[0] is cell.kernel and kernels[1] is cell.recurrent_kernel
        assert bias[0] is cell.bias and projection[0] is cell.projection_kernel


def test_every_variable_has_one_place(parts):
    table = weight_table(parts.character_encoder, parts.bilm)
    variables = [variable for entry in table for variable in variables_of(entry)]
    assert {id(variable) for variable in variables} == {id(v) for v in parts.variables()}
    assert len(variables) == len(parts.variables())
    for entry in table:
        assert np.prod(entry.shape) == sum(np.prod(v.shape) for v in variables_of(entry))
    array = np.arange(8 * 24).reshape(8, 24)
    (entry, *_), cell = weight_table(bilm=parts.bilm), parts.bilm.cells("forward")[0]
    (kernel, rows, _), (recurrent_kernel, others, _) = entry.pieces
    assert kernel is cell.kernel and recurrent_kernel is cell.recurrent_kernel
    np.testing.assert_array_equal(array[rows], array[:4])
    np.testing.assert_array_equal(array[others], array[4:])
