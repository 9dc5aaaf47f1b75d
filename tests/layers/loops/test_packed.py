import numpy as np
import pytest
import tensorflow as tf
from layers.loops.cases import (
    ReversedRNNLoop,
    assert_same,
    make_inputs,
    make_layers,
    make_mask,
    run,
)

from keras_elmo.layers.loops import packed
from keras_elmo.layers.loops.packed import PackedLoop, pack


def test_the_example_above_the_code():
    packing = pack(tf.sequence_mask([2, 4, 1]))
    tokens = np.array(["a1", "a2", "b1", "b2", "b3", "b4", "c1"])
    forward, backward = np.empty_like(tokens), np.empty_like(tokens)
    forward[packing.forward], backward[packing.backward] = tokens, tokens
    assert forward.tolist() == "b1 a1 c1 b2 a2 b3 b4".split()
    assert backward.tolist() == "b4 a2 c1 b3 a1 b2 b1".split()
    assert packing.num_rows.numpy().tolist() == [3, 2, 1, 1, 0]
    assert packing.offsets.numpy().tolist() == [0, 3, 5, 6, 7]
    assert packing.order.numpy().tolist() == [1, 0, 2]
    assert packing.final_output_index.numpy().tolist() == [6, 4, 2]
    assert packing.final_cell_index.numpy().tolist() == [2, 1, 0]


@pytest.mark.parametrize("seed", range(20))
def test_packing_of_random_masks(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(0, 7, 2)) < 0.6
    packing = pack(tf.constant(mask))
    lengths = mask.sum(axis=1)
    order = np.argsort(-lengths, kind="stable")
    assert packing.order.numpy().tolist() == order.tolist()
    assert packing.positions.numpy().tolist() == np.argwhere(mask).tolist()
    steps = lengths.max(initial=0)
    rows = [[row for row in order if lengths[row] > t] for t in range(steps)]
    assert packing.num_rows.numpy().tolist() == [*map(len, rows), 0]
    assert packing.offsets.numpy().tolist() == [sum(map(len, rows[:t])) for t in range(steps + 1)]
    ends = [(length, row) for row, length in zip(order, lengths[order], strict=True) if length]
    by_end = sorted(ends, key=lambda end: end[0])  # as the steps write the last cell states
    assert packing.final_cell_index.numpy().tolist() == [by_end.index(end) for end in ends]
    # The index of each token: step by step, and within a step in the order of the rows.
    index = {pair: k for k, pair in enumerate((t, row) for t in range(steps) for row in rows[t])}
    last_outputs = [index[length - 1, row] for length, row in ends]
    assert packing.final_output_index.numpy().tolist() == last_outputs
    expected_forward, expected_backward = [], []
    for row, column in np.argwhere(mask).tolist():
        t = int(mask[row, :column].sum())
        expected_forward.append(index[t, row])
        expected_backward.append(index[int(lengths[row]) - 1 - t, row])
    assert packing.forward.numpy().tolist() == expected_forward
    assert packing.backward.numpy().tolist() == expected_backward


def test_steps_in_training_multiply_by_no_transposed_kernel():
    layers, mask = make_layers(1), make_mask(1)
    inputs, states = make_inputs(layers, mask, 1)
    assert layers[0].cell.projection_kernel is not None
    loop = PackedLoop(tf.constant(mask), training=True)
    function = tf.function(lambda: run(loop, layers, inputs, states), autograph=False)
    graph = function.get_concrete_function().graph.as_graph_def()
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    products = [node for node in nodes if node.op == "MatMul" and node.attr["transpose_b"].b]
    assert len(products) == 2  # the input gates, of many rows, of each direction


@pytest.mark.parametrize("seed", range(4))
def test_a_backward_direction_in_its_own_order_equals_rnn_loop(seed):
    layers = make_layers(seed)
    lengths = make_mask(seed).sum(axis=1)
    mask = tf.sequence_mask(lengths, max(1, lengths.max()))
    inputs, states = make_inputs(layers, mask.numpy(), seed)
    actual = run(PackedLoop(mask, is_backward_reversed=False), layers, inputs, states)
    assert_same(actual, run(ReversedRNNLoop(mask), layers, inputs, states))


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    layers, mask = make_layers(1), make_mask(1, 6, 20)
    inputs, states = make_inputs(layers, mask, 1)
    results = []
    for tokens in (1, 7, 100_000):
        monkeypatch.setattr(packed, "TOKENS_PER_BLOCK", tokens)
        results.append(run(PackedLoop(tf.constant(mask)), layers, inputs, states))
    assert_same(results[0], results[2])
    assert_same(results[1], results[2])
