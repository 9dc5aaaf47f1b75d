import gc
import itertools

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


def test_an_error_of_one_generator_stops_no_other():
    def fail():
        raise ValueError("at once")
        yield

    for _ in range(3):
        with pytest.raises(tf.errors.OpError, match="at once"):
            list(dataset_from_generator(fail, SPECS))
        assert len(list(dataset_from_generator(generate, SPECS))) == 3


def test_a_generator_is_closed_when_its_iterator_is_deleted():
    open_now = set()

    def endless():
        me = object()
        open_now.add(me)
        try:
            for k in itertools.count():
                yield {"k": np.int64(k)}
        finally:
            open_now.remove(me)

    dataset = dataset_from_generator(endless, {"k": tf.TensorSpec((), tf.int64)})
    kept = dataset.as_numpy_iterator()
    assert int(next(kept)["k"]) == 0
    for _ in range(20):
        assert [int(batch["k"]) for batch in dataset.take(3)] == [0, 1, 2]
    gc.collect()
    # TensorFlow gives an array back when it comes into Python again.
    assert [int(next(kept)["k"]) for _ in range(20)] == list(range(1, 21))
    assert len(open_now) <= 3
