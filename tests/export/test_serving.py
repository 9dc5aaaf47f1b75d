import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.export.serving import warmup_inputs


@pytest.mark.parametrize(
    "texts", [["a b", "c"], ("a b", b"c"), np.array([["a b"], ["c"]]), tf.constant(["a b", "c"])]
)
def test_a_warm_up_of_raw_strings(texts):
    assert warmup_inputs(texts, False)["text"].numpy().tolist() == [b"a b", b"c"]
    assert warmup_inputs("a b", False)["text"].numpy().tolist() == [b"a b"]


@pytest.mark.parametrize(
    "texts",
    [
        [["a", "b"], ["c"]],
        np.array([["a", "b"], ["c", ""]]),
        tf.ragged.constant([["a", "b"], ["c"]]),
    ],
)
def test_a_warm_up_of_tokens(texts):
    assert warmup_inputs(texts, True)["tokens"].numpy().tolist() == [[b"a", b"b"], [b"c", b""]]
    with pytest.raises(ValueError, match="`warmup_texts` must be strings"):
        warmup_inputs(texts, False)


def test_a_warm_up_of_raw_strings_for_a_model_of_tokens():
    for texts in ("a", ["a b"], np.array(["a b"])):
        with pytest.raises(ValueError, match="`warmup_texts` must be lists of tokens"):
            warmup_inputs(texts, True)
