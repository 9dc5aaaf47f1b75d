"""The table of the loops. Their own files test that each one is found by its name."""

import keras
import pytest

from keras_elmo.layers.loops import LOOPS, Loop, find_loop


@pytest.mark.parametrize("name", LOOPS)
def test_every_row_names_a_loop(name):
    loop_class = find_loop(name)
    assert issubclass(loop_class, Loop) and loop_class.__name__ == LOOPS[name].class_name
    assert loop_class.__module__ == f"keras_elmo.layers.loops.{LOOPS[name].module}"


@pytest.mark.parametrize("name", ["fast", "unrolled", "", None, []])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="must be None or one of .*'rnn', 'packed', 'padded'"):
        find_loop(name)


@pytest.mark.parametrize("name", ["packed", "padded"])
def test_loops_that_need_tensorflow_are_refused_on_other_backends(name, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match=f"With loop='{name}' the backend must be.*backend 'jax'"):
        find_loop(name)
    assert find_loop("rnn").__name__ == "RNNLoop"
