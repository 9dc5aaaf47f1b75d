import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from training.letters import OPTIONS, make_trainer, values_of

pytestmark = pytest.mark.usefixtures("without_traces")
FULL_SOFTMAX = dataclasses.replace(
    OPTIONS, num_negatives=0, zero_starts=False, optimizer="adam", dtype="mixed_bfloat16"
)


def first_batch(trainer, is_right):
    batches = trainer.stream.training_batches(trainer.corpus, start=1)
    return next(batch for batch in batches if is_right(batch["starts_sentence"]))


def take_step(trainer, batch, state=None, learning_rate=0.0):
    state = trainer.state if state is None else state
    return trainer.training_step(batch, state, tf.constant(learning_rate))


@pytest.mark.parametrize("options", [OPTIONS, FULL_SOFTMAX])
def test_sentences_that_begin_a_window_begin_from_zeros(corpus, options):
    trainer = make_trainer(corpus, options=options)
    batch = first_batch(trainer, lambda starts: 0 < starts.sum() < 4)
    ones = [tf.ones_like(tensor) for tensor in trainer.state]
    states = [take_step(trainer, batch, state)[-1][0] for state in (trainer.state, ones)]
    is_same = np.all(np.isclose(*(state.numpy().astype(float) for state in states), atol=1e-6), 1)
    assert is_same.tolist() == (batch["starts_sentence"] & options.zero_starts).tolist()


def test_dropout_is_applied_to_what_each_layer_and_the_softmax_read(corpus, monkeypatch):
    trainer = make_trainer(corpus)
    step, batch = trainer.training_step, first_batch(trainer, np.any)
    dropout, places = step.make_dropout(batch["step"]), []

    def record(x, layer_and_direction):
        places.append(layer_and_direction)
        return x

    monkeypatch.setattr(step, "make_dropout", lambda _: record)
    step.losses(batch, trainer.state)
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]  # one layer, and the softmax
    noise = [dropout(tf.ones(20_000), place).numpy() for place in places]
    monkeypatch.undo()
    noise.append(step.make_dropout(batch["step"] + 1)(tf.ones(20_000), places[0]).numpy())
    for one in noise:
        assert np.mean(one == 0) == pytest.approx(OPTIONS.dropout, abs=0.02)
        np.testing.assert_allclose(one[one != 0], 1 / (1 - OPTIONS.dropout), rtol=1e-6)
    assert len({one.tobytes() for one in noise}) == 5  # a step has noise of its own


@pytest.mark.parametrize("clip_norm", [0.5, None])
def test_a_step_equals_one_written_out(corpus, clip_norm):
    """The loss of each direction, the objective, clipping and Adagrad, without dropout."""
    options = dataclasses.replace(OPTIONS, dropout=0.0, num_negatives=0, clip_norm=clip_norm)
    trainer = make_trainer(corpus, options=options)
    model, variables = trainer.model, trainer.training_step.variables
    batch = first_batch(trainer, np.any)
    starts = batch["starts_sentence"][:, None]
    state = [tf.random.stateless_normal(x.shape, [k, 0]) for k, x in enumerate(trainer.state)]
    with tf.GradientTape() as tape:
        zeroed = [tf.where(starts, 0.0, tensor) for tensor in state]
        outputs, next_state = model.read_windows(batch["words"], batch["inputs"], zeroed)
        logits = tf.einsum("dbtp,wp->dbtw", outputs, model.softmax.kernel.value)
        log_probabilities = tf.nn.log_softmax(logits + model.softmax.bias.value)
        chosen = tf.gather(log_probabilities, batch["targets"], batch_dims=3)
        losses = -tf.reduce_mean(chosen, axis=[1, 2])
        # The sum over the tokens of a window, the mean over lanes and directions.
        objective = -tf.reduce_sum(chosen) / (2 * options.batch_size)
    gradients = [tf.convert_to_tensor(g).numpy() for g in tape.gradient(objective, variables)]
    norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients))
    assert norm > 0.5
    gradients = [gradient * (clip_norm or norm) / norm for gradient in gradients]
    accumulators = [1 + gradient**2 for gradient in gradients]
    expected = [
        variable.numpy() - 0.3 * gradient / np.sqrt(accumulator)
        for variable, gradient, accumulator in zip(variables, gradients, accumulators, strict=True)
    ]
    found_losses, found_norm, found_state = take_step(trainer, batch, state, 0.3)
    np.testing.assert_allclose(found_losses, losses, rtol=1e-5)
    np.testing.assert_allclose(found_norm, norm, rtol=1e-5)
    for found, wanted in zip(found_state, next_state, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    for found, wanted in zip(values_of(trainer), [*expected, *accumulators], strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_step_with_bfloat16_products_is_near_one_without(corpus):
    """The weights and the state stay float32, and both have the same dropout."""
    losses = []
    for matmul_dtype in (None, "bfloat16"):
        options = dataclasses.replace(OPTIONS, matmul_dtype=matmul_dtype)
        trainer = make_trainer(corpus, options=options)
        state = [tf.random.stateless_normal(x.shape, [k, 0]) for k, x in enumerate(trainer.state)]
        loss, norm, state = take_step(trainer, first_batch(trainer, np.any), state, 0.3)
        tensors = [*state, *trainer.training_step.variables]
        assert all(tensor.dtype == tf.float32 for tensor in tensors)
        losses.append([*loss.numpy(), norm.numpy()])
    np.testing.assert_allclose(*losses, rtol=0.02)
    assert np.all(np.asarray(losses[0]) != losses[1])
