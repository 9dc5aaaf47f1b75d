import pytest

from keras_elmo.features.columns import vector_columns


@pytest.mark.parametrize(
    "layers, expected",
    [
        ("all", [("layer_0", 0, 16), ("layer_1", 1, 16), ("layer_2", 2, 16)]),
        (-1, [("layer_2", -1, 16)]),
        (["elmo", "word_emb", 0], [("elmo", "elmo", 16), ("word_emb", "word_emb", 8)] + [
            ("layer_0", 0, 16)
        ]),
        (["top", "lstm_outputs1"], [("top", "top", 16), ("lstm_outputs1", "lstm_outputs1", 16)]),
    ],
)  # fmt: skip
def test_each_chosen_layer_is_a_column(elmo, layers, expected):
    assert vector_columns(elmo.config, layers) == expected


@pytest.mark.parametrize(
    "layers, message",
    [
        ("default", 'must not be "default" here: choose `pooled`'),
        (["elmo", "elmo"], "each layer once.*columns elmo, elmo"),
        (["all", -1], "columns layer_0, layer_1, layer_2, layer_2"),
        (3, "from -3 to 2"),
        ([], "must be one of"),
    ],
)
def test_bad_layers(elmo, layers, message):
    with pytest.raises(ValueError, match=message):
        vector_columns(elmo.config, layers)
