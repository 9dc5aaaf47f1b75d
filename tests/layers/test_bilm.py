import numpy as np
import pytest
import tensorflow as tf
from layers.loops.cases import assert_same

from keras_elmo import BiLM


def make_pair(**kwargs):
    """A `BiLM` with the default loop, and one with `loop="rnn"` and the same weights."""
    kwargs = {"units": 12, "projection_dim": 5, **kwargs}
    fast, plain = BiLM(**kwargs), BiLM(**{**kwargs, "loop": "rnn"})
    for layer in (fast, plain):
        layer.build((None, None, layer.input_dim))
    for variable in fast.weights:
        variable.assign(np.random.normal(scale=0.5, size=variable.shape))
    plain.set_weights(fast.get_weights())
    return fast, plain


def make_batch(features, seed=0, holes=False):
    rng = np.random.default_rng(seed)
    inputs = rng.normal(size=(6, 9, features)).astype(np.float32)
    mask = np.arange(9) < rng.integers(0, 10, 6)[:, None]
    if holes:
        mask &= rng.random(mask.shape) < 0.6
    return tf.constant(inputs), tf.constant(mask)


def random_normal(shape):
    return tf.constant(np.random.normal(size=shape), tf.float32)


def run(call, sources, variables):
    """The outputs of a call, and the gradients of a function of them."""
    sources = [*sources, *(variable.value for variable in variables)]
    with tf.GradientTape() as tape:
        tape.watch(sources)
        outputs = call()
        loss = sum(tf.reduce_sum(tf.sin(3 * output)) for output in outputs)
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, sources)]
    assert all(np.abs(gradient).max() > 1e-3 for gradient in gradients)
    return outputs, gradients


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
        ("rnn", {"projection_dim": None, "num_layers": 1}),
        ("padded", {"use_skip_connections": False}),
    ],
)
def test_boundaries_are_tokens_around_each_sequence(loop, kwargs, untraced):
    layer, _ = make_pair(**kwargs, loop=loop)
    inputs, mask = make_batch(layer.input_dim)
    boundaries = tf.unstack(random_normal((2, layer.input_dim)))
    around, around_mask = with_boundaries(inputs, mask, boundaries)

    def real(outputs):
        return [tf.where(mask[..., None], output, 0.0) for output in outputs]

    def read_boundaries():
        return real(layer(inputs, mask=mask, boundaries=boundaries))

    def read_around():
        return real(output[:, 1:-1] for output in layer(around, mask=around_mask))

    assert_same(*(run(f, [], layer.trainable_variables) for f in (read_boundaries, read_around)))


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


@pytest.mark.parametrize(
    "name, value",
    [("units", 8.5), ("projection_dim", 16), ("projection_dim", 0), ("cell_clip", -3)]
    + [("projection_clip", 0), ("num_layers", 0), ("loop", "fast")],
)
def test_bad_arguments(name, value):
    with pytest.raises(ValueError, match=f"Received: {name}={value!r}"):
        BiLM(**{"units": 4, name: value})


STATE = [tf.ones((2, size)) for size in [4, 6] * 4]


@pytest.mark.parametrize(
    "shape, kwargs, message",
    [
        ((2, 3, 5), {}, r"to have value 4.*\(2, 3, 5\)"),
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
