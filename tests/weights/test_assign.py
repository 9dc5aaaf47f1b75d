import files
import numpy as np
import pytest
from weights.parts import CELL, assert_same

from keras_elmo.weights.assign import assign_weights
from keras_elmo.weights.layout import weight_table


@pytest.fixture
def datasets(file):
    """Other weights than those of `parts`, by the names of a file."""
    return files.datasets(file)


def assign(datasets, parts):
    assign_weights(datasets, weight_table(parts.character_encoder, parts.bilm), "the source")


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", ">f4"])
def test_floats_become_float32(datasets, parts, new, dtype):
    assign({name: array.astype(dtype) for name, array in datasets.items()}, parts)
    assert_same(parts.arrays(), [array.astype(dtype).astype("float32") for array in new])


class Damaged:
    """A dataset that cannot be read."""

    shape, dtype = (261, 3), np.dtype("float32")

    def __getitem__(self, selection):
        raise OSError("wrong checksum")


def with_value(value):
    array = np.zeros((261, 3), "float64" if value == 1e300 else "float32")
    array[7, 1] = value
    return array


@pytest.mark.parametrize(
    "name, value, message",
    [
        (f"{CELL}/W_0", ..., rf"missing: {CELL}/W_0, expected shape \(8, 24\)"),
        ("RNN_2/B", np.zeros(3), r"not used: RNN_2/B, shape \(3,\)"),
        ("char_embed", np.zeros((262, 3)), r"shape: .*\(261, 3\), in the file \(262, 3\)"),
        ("char_embed", np.float64(1), r"shape: .*\(261, 3\), in the file \(\)"),
        ("char_embed", np.zeros((261, 3), "i4"), "dtype: .* float32, in the file int32"),
        ("char_embed", np.zeros((261, 3), "c8"), "dtype: .* float32, in the file complex64"),
        ("char_embed", with_value(np.nan), "values: char_embed holds NaN or infinity"),
        ("char_embed", with_value(-np.inf), "values: char_embed holds NaN or infinity"),
        ("char_embed", with_value(1e300), "values: char_embed holds NaN or infinity"),
        ("char_embed", Damaged(), r"damaged: char_embed; .* the file again \(wrong checksum\)"),
    ],
)
def test_fault_is_named_and_nothing_changes(datasets, parts, name, value, message):
    before = parts.arrays()
    datasets[name] = value
    datasets = {name: array for name, array in datasets.items() if array is not ...}
    with pytest.raises(ValueError, match=rf"(?s)^the source .*nothing was changed.*{message}"):
        assign(datasets, parts)
    assert_same(parts.arrays(), before)


def test_faults_of_a_part_that_is_left_out_do_not_matter(datasets, parts, new):
    datasets["char_embed"] = with_value(np.nan)
    del datasets["CNN/b_cnn_0"]
    datasets["softmax/W"] = np.zeros(3)
    before, split = parts.arrays(), len(parts.character_encoder.weights)
    assign_weights(datasets, weight_table(bilm=parts.bilm), "the source")
    assert_same(parts.arrays(), before[:split] + new[split:])
    with pytest.raises(ValueError, match="missing: CNN/b_cnn_0"):
        assign_weights(datasets, weight_table(parts.character_encoder), "the source")


def test_many_faults_and_long_names_are_cut(datasets, parts):
    datasets |= {f"{number:05}" * 200: np.zeros(1) for number in range(2000)}
    with pytest.raises(ValueError) as caught:
        assign(datasets, parts)
    assert len(str(caught.value)) < 4000 and str(caught.value).endswith("\n  and 1,992 more")
