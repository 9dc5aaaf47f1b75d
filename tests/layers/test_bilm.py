import concurrent.futures
import threading

import numpy as np
import pytest
import tensorflow as tf
from layers.bilm_cases import make_batch, make_pair, random_normal

from keras_elmo import BiLM


def run(call, sources, variables):
    """The outputs of a call, and the gradients of a function of them."""
    sources = [*sources, *(variable.value for variable in variables)]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        outputs = call()
        loss = sum(tf.reduce_sum(tf.sin(3 * output)) for output in outputs)
    return outputs, [tf.convert_to_tensor(g) for g in tape.gradient(loss, sources)]


def assert_same(actual, expected):
    """Compares two results of `run`."""
    for one, other in zip(actual[0], expected[0], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    for one, other in zip(actual[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, atol=3e-5, rtol=1e-4)
        assert np.abs(other).max() > 1e-3


@pytest.fixture(scope="module")
def pair():
    """A `BiLM` with the default loop, and one with the same weights and Keras's loop."""
    return make_pair(cell_clip=0.4, projection_clip=0.2, return_state=True)


@pytest.mark.parametrize("training", [False, True])
def test_the_default_loop_equals_keras_rnn(pair, training, untraced):
    inputs, mask = make_batch(pair[0].input_dim, seed=6, holes=True)
    state = [random_normal(tensor.shape) for tensor in pair[0].zero_state(6)]

    def results(layer):
        def call():
            outputs, final_state = layer(inputs, mask=mask, initial_state=state, training=training)
            return [*outputs, *final_state]

        return run(call, [inputs, *state], layer.trainable_variables)

    assert_same(*map(results, pair))


@pytest.mark.parametrize("is_masked", [False, True], ids=["unrolled", "packed"])
def test_streams_equal_keras_rnn_of_each_direction(pair, is_masked):
    layer, plain = pair
    forward, mask = make_batch(layer.input_dim, seed=3)
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), 1) if is_masked else tf.fill([6], 9)
    mask = tf.sequence_mask(lengths, 9)
    backward = random_normal(forward.shape)
    state = [random_normal(tensor.shape) for tensor in layer.zero_state(6)]
    size = layer.input_dim

    def read_streams():
        outputs, final_state = layer.read_streams(
            forward, backward, state, mask if is_masked else None
        )
        return [*outputs, *final_state]

    def read_each_direction():
        # One call for each direction; the inputs of the backward one are reversed.
        one, final_one = plain(forward, mask=mask, initial_state=state)
        other, final_other = plain(
            tf.reverse_sequence(backward, lengths, 1), mask=mask, initial_state=state
        )
        outputs = [
            tf.concat([a[..., :size], tf.reverse_sequence(b[..., size:], lengths, 1)], -1)
            for a, b in zip(one, other, strict=True)
        ]
        return outputs + [(final_one if k % 4 < 2 else final_other)[k] for k in range(len(state))]

    sources = [forward, backward, *state]
    assert_same(
        run(read_streams, sources, layer.trainable_variables),
        run(read_each_direction, sources, plain.trainable_variables),
    )


def test_gradients_equal_finite_differences_in_float64():
    # This loop runs without a graph. The gradients of the other loops are compared with it.
    layer = BiLM(4, 3, cell_clip=0.9, projection_clip=0.8, dtype="float64", loop="padded")
    inputs = tf.constant(np.random.default_rng(0).normal(size=(3, 4, 3)))
    mask = tf.constant([[True] * 4, [True] * 2 + [False] * 2, [False] * 4])
    layer(inputs, mask=mask)

    def loss():
        return sum(tf.reduce_sum(tf.sin(output)) for output in layer(inputs, mask=mask))

    with tf.GradientTape() as tape:
        value = loss()
    variables = layer.trainable_variables
    gradients = tape.gradient(value, [variable.value for variable in variables])
    rng = np.random.default_rng(1)
    for variable, gradient in zip(variables, gradients, strict=True):
        start = variable.numpy()
        direction = rng.normal(size=start.shape)
        values = []
        for step in (1e-6, -1e-6):
            variable.assign(start + step * direction)
            values.append(float(loss()))
        variable.assign(start)
        expected = (values[0] - values[1]) / 2e-6
        assert np.sum(gradient * direction) == pytest.approx(expected, rel=1e-5, abs=1e-7)


def with_boundaries(inputs, mask, boundaries):
    """The same sequences, each with the boundaries as its first and last token."""
    rows, tokens = mask.shape
    lengths = np.sum(mask, axis=1)
    around = np.zeros((rows, tokens + 2, inputs.shape[-1]), np.float32)
    around[:, 0], around[:, 1:-1] = boundaries[0], inputs
    around[np.arange(rows), lengths + 1] = boundaries[1]
    return tf.constant(around), tf.sequence_mask(lengths + 2, tokens + 2)


@pytest.mark.parametrize(
    "loop, kwargs",
    [
        ("padded", {"cell_clip": 0.4, "projection_clip": 0.2}),
        ("packed", {"cell_clip": 0.4, "projection_clip": 0.2, "num_layers": 1}),
        ("rnn", {"cell_clip": 0.4, "projection_clip": 0.2, "num_layers": 1}),
        ("padded", {"num_layers": 3, "use_skip_connections": False}),
        ("padded", {"projection_dim": None, "num_layers": 1}),
    ],
)
def test_boundaries_are_tokens_around_each_sequence(loop, kwargs, untraced):
    layer, _ = make_pair(**kwargs)
    inputs, mask = make_batch(layer.input_dim)
    boundaries = tf.unstack(random_normal((2, layer.input_dim)))
    around, around_mask = with_boundaries(inputs, mask, boundaries)

    def real(outputs):
        return [tf.where(mask[..., None], output, 0.0) for output in outputs]

    def read_boundaries():
        return real(layer(inputs, mask=mask, boundaries=boundaries))

    def read_around():
        return real(output[:, 1:-1] for output in layer(around, mask=around_mask))

    with layer.using_loop(loop):
        assert_same(
            *(run(f, [], layer.trainable_variables) for f in (read_boundaries, read_around))
        )


@pytest.mark.parametrize("loop", ["packed", "rnn"])
def test_sequences_that_are_empty(loop):
    layer = BiLM(6, 4, return_state=True, loop=loop)
    state = [random_normal((2, size)) for size in [4, 6] * 4]
    outputs, final = layer(tf.ones((2, 3, 4)), mask=tf.zeros((2, 3), tf.bool), initial_state=state)
    assert not any(np.any(output) for output in outputs)
    for one, other in zip(final, state, strict=True):
        np.testing.assert_array_equal(one, other)
    outputs, _ = layer(tf.ones((0, 3, 4)))
    assert [tuple(output.shape) for output in outputs] == [(0, 3, 8)] * 3


def test_the_plain_loop_compiles_with_xla():
    fast, plain = make_pair(num_layers=1)
    inputs, mask = make_batch(fast.input_dim)
    compiled = tf.function(lambda x, m: plain(x, mask=m), jit_compile=True)
    for one, other in zip(compiled(inputs, mask), plain(inputs, mask=mask), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    assert plain.supports_jit and not fast.supports_jit


BAD_VALUES = {
    "units": [0, "8", 8.5],
    "projection_dim": [16, -3],
    "cell_clip": ["3", -3],
    "projection_clip": [0],
    "num_layers": [1.5, 0],
    "loop": ["fast"],
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_arguments(name):
    for value in BAD_VALUES[name]:
        with pytest.raises(ValueError, match=f"Received: {name}={value!r}"):
            BiLM(**{"units": 4, name: value})


STATE = [tf.ones((2, size)) for size in [4, 6] * 4]


@pytest.mark.parametrize(
    "shape, kwargs, message",
    [
        ((2, 3, 5), {}, r"to have value 4.*\(2, 3, 5\)"),
        ((2, 4), {}, "expected ndim=3"),
        ((2, 3, 4), {"mask": tf.ones((2, 5), tf.bool)}, r"mask shape \(2, 5\)"),
        ((1, 3, 4), {"initial_state": STATE}, r"hold 8 tensors.*\(2, 4\)"),
        ((2, 3, 4), {"initial_state": STATE[:2]}, "hold 8 tensors.*Received: 2 tensors"),
        ((2, 3, 4), {"initial_state": STATE, "boundaries": tf.ones((2, 4))}, "`initial_state`"),
    ],
)
def test_tensors_that_do_not_fit_are_refused(shape, kwargs, message):
    with pytest.raises(ValueError, match=message):
        BiLM(6, 4)(tf.ones(shape), **kwargs)


def test_what_streams_read_can_be_dropped():
    layer = BiLM(8, 4, num_layers=2)
    inputs = random_normal((2, 3, 4))
    seen = []

    def drop(x, place):
        seen.append(place)
        return tf.zeros_like(x)

    layer.build(inputs.shape)
    state = layer.zero_state(2)
    outputs, _ = layer.read_streams(inputs, inputs, state, dropout=drop)
    assert seen == [(0, 0), (0, 1), (1, 0), (1, 1)]
    other, _ = layer.read_streams(inputs + 1, inputs - 1, state, dropout=drop)
    np.testing.assert_array_equal(outputs[2], other[2])
    # A skip connection adds what the layer read.
    assert not np.allclose(outputs[2], layer.read_streams(inputs, inputs, state)[0][2])


def test_another_loop_is_for_its_own_thread():
    layer, barrier = BiLM(8, 4), threading.Barrier(3, timeout=10)

    def loop_inside(name):
        with layer.using_loop(name):
            barrier.wait()  # all threads are in their contexts
            found = layer._loop_name()
            barrier.wait()
            return found

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = pool.map(loop_inside, ["rnn", "padded"])
        barrier.wait()
        assert layer._loop_name() == "packed"
        barrier.wait()
    assert list(found) == ["rnn", "padded"]
    assert layer.get_config()["loop"] is None


def test_streams_of_an_unknown_number_of_tokens_equal_unrolled_ones():
    layer = BiLM(8, 4, cell_clip=0.4, projection_clip=0.3)
    layer.build((None, None, 4))
    forward, backward = (tf.random.normal((3, 5, 4), seed=seed) for seed in (1, 2))
    state = [tf.random.normal((3, size), seed=k) for k, size in enumerate(layer.state_sizes)]
    spec = tf.TensorSpec((None, None, 4))

    @tf.function(input_signature=[spec, spec])
    def unknown(forward, backward):
        return layer.read_streams(forward, backward, state)

    expected = layer.read_streams(forward, backward, state)
    for found, wanted in zip(unknown(forward, backward), expected, strict=True):
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)
