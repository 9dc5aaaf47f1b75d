import numpy as np
import pytest
import tensorflow as tf

from keras_elmo.generator_dataset import dataset_from_generator

SPECS = {
    "index": tf.TensorSpec((), tf.int64),
    "words": tf.TensorSpec((None,), tf.string),
    "pair": tf.TensorSpec((2,), tf.float32),
}


def generate():
    for k in range(3):
        yield {
            "index": np.int64(k),
            "words": np.array([b"a\xff"] * k, object),
            "pair": np.array([k, -k], np.float32),
        }


def test_the_dataset_is_what_the_generator_yields():
    dataset = dataset_from_generator(generate, SPECS)
    assert dataset.element_spec == SPECS
    found = [
        {name: value.tolist() for name, value in batch.items()}
        for batch in dataset.as_numpy_iterator()
    ]
    assert found == [{name: value.tolist() for name, value in b.items()} for b in generate()]


def test_each_iterator_has_a_generator_of_its_own():
    dataset = dataset_from_generator(generate, SPECS)
    first, second = dataset.as_numpy_iterator(), dataset.as_numpy_iterator()
    found = [(int(next(first)["index"]), int(next(second)["index"])) for _ in range(3)]
    assert found == [(0, 0), (1, 1), (2, 2)]
    assert next(first, None) is None and next(second, None) is None
    assert len(list(dataset)) == 3


def test_an_error_of_the_generator_is_raised():
    def fail():
        yield from generate()
        raise ValueError("the generator's own words")

    iterator = iter(dataset_from_generator(fail, SPECS))
    with pytest.raises(tf.errors.OpError, match="the generator's own words"):
        list(iterator)
