import tensorflow as tf
from layers.loops.cases import assert_same, make_inputs, make_layers, make_mask, run

from keras_elmo.layers.loops import packed
from keras_elmo.layers.loops.packed import PackedLoop


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


def test_the_size_of_blocks_changes_nothing(monkeypatch):
    layers, mask = make_layers(1), make_mask(1, 6, 20)
    inputs, states = make_inputs(layers, mask, 1)
    expected = run(PackedLoop(tf.constant(mask)), layers, inputs, states)
    for tokens in (1, 7):
        monkeypatch.setattr(packed, "TOKENS_PER_BLOCK", tokens)
        assert_same(run(PackedLoop(tf.constant(mask)), layers, inputs, states), expected)
