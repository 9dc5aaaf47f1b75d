import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.models.text_inputs import LastMask, call_strings, fit_strings


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


def test_a_mask_is_taken_once_by_the_inputs_of_its_call():
    last, inputs = LastMask(), object()
    last.keep(inputs, "mask")
    assert last.take(object()) is None
    assert last.take(inputs) is None  # the first question used it up
    last.keep(inputs, "mask")
    found = []
    thread = threading.Thread(target=lambda: found.append(last.take(inputs)))
    thread.start()
    thread.join()
    assert found == [None] and last.take(inputs) == "mask"
