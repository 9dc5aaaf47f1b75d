import pytest
import tensorflow as tf
from layers.loops.cases import (
    assert_equals_rnn_loop,
    assert_graph_equals_rnn_loop,
    assert_leave_undoes_enter,
    make_mask,
)

from keras_elmo.layers.loops import find_loop
from keras_elmo.layers.loops.padded import PaddedLoop


@pytest.mark.parametrize("seed", range(8))
def test_it_equals_rnn_loop(seed):
    assert_equals_rnn_loop(PaddedLoop, seed)


def test_one_graph_runs_batches_of_any_shape():
    assert_graph_equals_rnn_loop(PaddedLoop)


def test_leave_undoes_enter():
    mask = make_mask(0, 6, 9)
    assert_leave_undoes_enter(PaddedLoop(tf.constant(mask)), mask)


def test_it_is_found_by_its_name():
    assert find_loop("padded") is PaddedLoop
