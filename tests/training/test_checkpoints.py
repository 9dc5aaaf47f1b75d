import dataclasses
import os
import types

import numpy as np
import pytest
import tensorflow as tf
from training.letters import CONFIG, OPTIONS, WORDS

from keras_elmo.training import Corpus
from keras_elmo.training.checkpoints import Checkpoints, check_same_run, run_settings
from keras_elmo.training.optimizer import OPTIMIZERS
from keras_elmo.training.vocabulary import Vocabulary


def make_variables(seed):
    rng = np.random.default_rng(seed)
    shapes = (len(WORDS), 6), (4,)
    return [tf.Variable(rng.normal(size=shape), dtype=tf.float32) for shape in shapes]


def take_steps(optimizer, variables, seed, count=3):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        gradients = [tf.constant(rng.normal(size=v.shape), tf.float32) for v in variables]
        optimizer.apply(gradients, tf.constant(0.1))


@pytest.mark.parametrize("name", ["adagrad", "adam"])
def test_an_optimizer_resumes_as_it_would_have_continued(tmp_path, name):
    whole = make_variables(0)
    optimizer = OPTIMIZERS[name](whole)
    take_steps(optimizer, whole, seed=1)
    progress = {"step": 3, "best": float("inf"), "heldout": None, "run": {"filters": [[1, 4]]}}
    state = [tf.constant(np.random.normal(size=(3, size)), tf.float32) for size in (2, 5)]
    state.append(tf.cast(state[0], tf.bfloat16))
    checkpoints = Checkpoints(tmp_path / "new", [*whole, *optimizer.accumulators])
    assert checkpoints.read_progress() is None
    checkpoints.write(3, progress, state)
    take_steps(optimizer, whole, seed=2)

    resumed = make_variables(9)
    optimizer = OPTIMIZERS[name](resumed)
    checkpoints = Checkpoints(tmp_path / "new", [*resumed, *optimizer.accumulators])
    assert checkpoints.read_progress() == progress
    for array, tensor in zip(checkpoints.restore(len(state)), state, strict=True):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, tensor.numpy().astype(np.float32))
    take_steps(optimizer, resumed, seed=2)
    for variable, expected in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(variable, expected)


def test_the_two_newest_are_kept_and_one_of_the_same_step_is_replaced(tmp_path):
    checkpoints = Checkpoints(tmp_path, make_variables(0))
    for step, is_evaluated in [(1, False), (9, False), (10, False), (10, True)]:
        progress = {"step": step, "is_evaluated": is_evaluated}
        checkpoints.write(step, progress, [])
        assert checkpoints.read_progress() == progress
    assert sorted(os.listdir(tmp_path)) == ["step-0000000009.npz", "step-0000000010.npz"]
    (tmp_path / "step-0000000010.npz").unlink()
    assert checkpoints.read_progress()["step"] == 9


def test_a_checkpoint_that_is_cut_short_or_damaged(tmp_path):
    checkpoints = Checkpoints(tmp_path, make_variables(0))
    checkpoints.write(1, {"step": 1}, [])
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    position = content.index(make_variables(0)[0].numpy().tobytes()) + 50
    flipped = content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]
    for damaged in (flipped, *(content[:size] for size in range(0, len(content), 20))):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="step-0000000001.npz must be whole"):
            checkpoints.read_progress()
            checkpoints.restore(0)
    path.write_bytes(content)
    assert checkpoints.restore(0) == []
    with pytest.raises(ValueError, match="must be whole.*state-0 is not a file in the archive"):
        checkpoints.restore(1)


@pytest.fixture
def settings(corpus):
    def make(corpus=corpus, steps=9, **options):
        options = dataclasses.replace(OPTIONS, **options)
        return run_settings(
            types.SimpleNamespace(model=model, options=options, corpus=corpus, num_steps=steps)
        )

    model = types.SimpleNamespace(config=CONFIG, vocabulary=Vocabulary(WORDS))
    return make


def test_another_run_is_refused(settings, corpus, tmp_path):
    (tmp_path / "other.txt").write_text("a b c\n" * 9)
    before = settings()
    for now, received in [
        (settings(dropout=0.5), "dropout: 0.1 before, 0.5 now$"),
        (settings(seed=1, shuffle=False), "seed: 5 before, 1 now; shuffle: "),
        (settings(corpus=Corpus(tmp_path / "other.txt")), "corpus: "),
        (settings(corpus=Corpus(corpus.files, "latin-1")), "encoding: "),
        (settings(corpus=Corpus(corpus.files, errors="replace")), "errors: "),
        (settings(corpus=Corpus(corpus.files, tokenizer="space")), "tokenizer: "),
        ({**before, "vocabulary": "0" * 64}, "vocabulary: "),
        ({**before, "lstm": {**before["lstm"], "dim": 16}}, "lstm: "),
    ]:
        with pytest.raises(ValueError, match=f"FOLDER.* Received: {received}"):
            check_same_run(before, now, "FOLDER")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
def test_only_with_a_constant_learning_rate_the_number_of_steps_may_change(settings, schedule):
    before = settings(schedule=schedule)
    check_same_run(before, settings(schedule=schedule, epochs=9), "run")  # as many steps
    context = pytest.raises(ValueError, match="steps: 9 before, 20 now")
    if schedule == "constant":
        context = pytest.warns(UserWarning, match="begun with 9 steps, and now ends after 20")
    with context:
        check_same_run(before, settings(schedule=schedule, epochs=9, steps=20), "run")
