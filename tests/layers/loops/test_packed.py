import numpy as np
import pytest
import tensorflow as tf
from layers.bilm_cases import make_batch, make_pair

from keras_elmo.layers.loops import packed
from keras_elmo.layers.loops.packed import pack


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
    assert packing.lengths.numpy().tolist() == [4, 2, 1]


@pytest.mark.parametrize("seed", range(20))
def test_packing_of_random_masks(seed):
    rng = np.random.default_rng(seed)
    mask = rng.random(rng.integers(0, 7, 2)) < 0.6
    packing = pack(tf.constant(mask))
    lengths = mask.sum(axis=1)
    order = np.argsort(-lengths, kind="stable")
    assert packing.order.numpy().tolist() == order.tolist()
    steps = lengths.max(initial=0)
    rows = [[row for row in order if lengths[row] > t] for t in range(steps)]
    assert packing.num_rows.numpy().tolist() == [*map(len, rows), 0]
    # Each token's index: step by step, and within a step in the order of the rows.
    index = {pair: k for k, pair in enumerate((t, row) for t in range(steps) for row in rows[t])}
    expected_forward, expected_backward = [], []
    for row, column in np.argwhere(mask).tolist():
        t = int(mask[row, :column].sum())
        expected_forward.append(index[t, row])
        expected_backward.append(index[int(lengths[row]) - 1 - t, row])
    assert packing.forward.numpy().tolist() == expected_forward
    assert packing.backward.numpy().tolist() == expected_backward


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    layer, _ = make_pair(return_state=True)
    inputs, mask = make_batch(layer.input_dim, tokens=20)
    results = []
    for tokens in (1, 7, 100_000):
        monkeypatch.setattr(packed, "TOKENS_PER_BLOCK", tokens)
        fresh = type(layer).from_config(layer.get_config())  # its graph is made anew
        fresh.build((None, None, layer.input_dim))
        fresh.set_weights(layer.get_weights())
        outputs, state = fresh(inputs, mask=mask)
        results.append([*outputs, *state])
    for one, two, three in zip(*results, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-6)
        np.testing.assert_allclose(one, three, atol=1e-6)


def test_padding_and_neighbours_change_nothing():
    layer, _ = make_pair()
    inputs, _ = make_batch(layer.input_dim, rows=1, tokens=4)
    alone = layer(inputs)
    noise = tf.random.normal((1, 3, layer.input_dim))
    padded = tf.concat([tf.concat([inputs, noise], 1), tf.random.normal((1, 7, 5))], 0)
    mask = tf.constant([[True] * 4 + [False] * 3, [True] * 7])
    together = layer(padded, mask=mask)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_allclose(one[0], other[0, :4], atol=1e-6)
