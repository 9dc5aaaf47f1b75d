import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.text_inputs import (
    call_strings,
    fit_strings,
    num_columns,
    symbolic_width,
    tokens_and_width,
)
from keras_elmo.text import SpaceTokenizer


def test_a_call_takes_text_in_any_form():
    for form in (["a", "b"], ("a", "b"), np.array(["a", "b"]), tf.constant(["a", "b"])):
        assert call_strings(form).numpy().tolist() == [b"a", b"b"]
    symbolic = keras.Input((), dtype="string")
    assert call_strings(symbolic) is symbolic
    with pytest.raises(TypeError, match="must be strings.*dtype float32"):
        call_strings(keras.Input(()))


def test_fit_takes_text_and_leaves_batches_to_keras():
    assert fit_strings(["a"]).numpy().tolist() == [b"a"]
    assert fit_strings(np.array(["a"], object)).numpy().tolist() == [b"a"]
    batches = tf.data.Dataset.from_tensors(["a"])
    assert fit_strings(batches) is batches and fit_strings(None) is None


def test_tokens_and_the_width_of_their_outputs():
    raw, tokenizer = tf.constant(["a b c", "d"]), SpaceTokenizer()
    padded = tf.constant([["a", "b", "", ""], ["c", "", "", ""]])
    ragged = tf.ragged.constant([["a", "b"], ["c"]])
    for inputs, splitter, max_tokens, expected, width in [
        (raw, tokenizer, None, [[b"a", b"b", b"c"], [b"d"]], 3),
        (raw, tokenizer, 2, [[b"a", b"b"], [b"d"]], 2),
        (ragged, tokenizer, None, [[b"a", b"b"], [b"c"]], 2),
        (ragged, None, None, [[b"a", b"b"], [b"c"]], 2),
        (padded, None, None, [[b"a", b"b"], [b"c"]], 4),  # as wide as the input
        (padded, None, 1, [[b"a"], [b"c"]], 1),
    ]:
        tokens, found = tokens_and_width(inputs, splitter, max_tokens)
        assert tokens.to_list() == expected and int(found) == width


def test_the_width_of_symbolic_outputs():
    raw, padded = keras.Input((), dtype="string"), keras.Input((7,), dtype="string")
    assert symbolic_width(raw, SpaceTokenizer(), None) is None
    assert symbolic_width(raw, SpaceTokenizer(), 5) == 5
    assert symbolic_width(padded, None, None) == 7 and symbolic_width(padded, None, 5) == 5
    ragged = keras.Input((None,), dtype="string", ragged=True)
    assert symbolic_width(ragged, None, None) is None
    with pytest.raises(ValueError, match=r"input must be tokens.*Received.*shape \(None,\)"):
        symbolic_width(raw, None, None)


def test_columns_are_an_int_where_they_are_known():
    columns = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None, None])])
    def trace(fixed, free):
        columns.append((num_columns(fixed), num_columns(free)))
        return columns[-1]

    assert [int(n) for n in trace(tf.ones((2, 3)), tf.ones((2, 5)))] == [3, 5]
    assert columns[0][0] == 3 and tf.is_tensor(columns[0][1])
