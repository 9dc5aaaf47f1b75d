import numpy as np
import pytest

from keras_elmo.corpora.columns import as_dtype, vector_columns
from keras_elmo.models.embed_stream import sentence_mean


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


def test_the_mean_of_a_sentence():
    vectors = np.array([[1, 2], [3, 6]], np.float32)
    np.testing.assert_array_equal(sentence_mean(vectors), [2, 4])
    empty = sentence_mean(vectors[:0])
    np.testing.assert_array_equal(empty, [0, 0])
    assert empty.dtype == np.float32


def test_numbers_beyond_float16_are_refused_beside_others_that_are_not_finite():
    small = np.array([1.5, -65504, np.nan, np.inf], np.float32)
    np.testing.assert_array_equal(as_dtype(small, "float16", "top"), small.astype(np.float16))
    assert as_dtype(small, "float32", "top") is small
    with pytest.raises(ValueError, match="top do not fit into float16.* Received: 70,000"):
        as_dtype(np.array([np.nan, np.inf, -7e4], np.float32), "float16", "top")
