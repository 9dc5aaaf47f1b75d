import dataclasses

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from training.letters import OPTIONS, WORDS, make_model

from keras_elmo.training import Corpus
from keras_elmo.training.checkpoints import (
    Checkpoints,
    RunState,
    check_same_run,
    is_begun,
    run_settings,
)
from keras_elmo.training.optimizer import OPTIMIZERS


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
    state = [np.arange(6, dtype=np.float32).reshape(2, 3)]
    checkpoints = Checkpoints(str(tmp_path), whole, optimizer.accumulators)
    checkpoints.write(RunState({"step": 3}, state), 3, is_evaluated=False)
    shapes = tf.train.load_checkpoint(str(tmp_path)).get_variable_to_shape_map()
    sizes = [4 * np.prod(s) for n, s in shapes.items() if n.startswith(("variables", "accum"))]
    assert checkpoints.num_bytes() == sum(sizes)
    take_steps(optimizer, whole, seed=2)

    resumed = make_variables(9)
    optimizer = OPTIMIZERS[name](resumed)
    checkpoints = Checkpoints(str(tmp_path), resumed, optimizer.accumulators)
    run_state = checkpoints.read_run_state()
    assert run_state.values == {"step": 3}
    np.testing.assert_array_equal(run_state.lstm_state[0], state[0])
    checkpoints.restore_variables()
    take_steps(optimizer, resumed, seed=2)
    for variable, expected in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(variable, expected)


def test_the_two_newest_are_kept_and_one_after_an_evaluation_is_newer(tmp_path):
    variables = make_variables(0)
    checkpoints = Checkpoints(str(tmp_path), variables, [])
    assert checkpoints.read_run_state() is None
    for step, is_evaluated in [(1, False), (2, False), (2, True)]:
        values = {"step": step, "is_evaluated": is_evaluated}
        checkpoints.write(RunState(values), step, is_evaluated)
        assert checkpoints.read_run_state().values == values
    names = {path.stem for path in tmp_path.iterdir() if path.suffix == ".index"}
    assert names == {"ckpt-2", "evaluated-2"}


def test_a_checkpoint_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    checkpoints = Checkpoints(str(tmp_path / "file"), make_variables(0), [])
    with pytest.raises(OSError, match="step 6 .*file"):
        checkpoints.write(RunState({}), 6, False)


@pytest.mark.parametrize("suffix", [".index", ".data-00000-of-00001"])
def test_a_checkpoint_that_is_cut_short(tmp_path, suffix):
    variables = make_variables(0)
    checkpoints = Checkpoints(str(tmp_path), variables, [])
    checkpoints.write(RunState({"step": 1}), 1, False)
    path = tmp_path / f"ckpt-1{suffix}"
    content = path.read_bytes()
    for size in range(0, len(content), 20):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="ckpt-1 must be whole"):
            checkpoints.read_run_state()
            checkpoints.restore_variables()


def test_a_run_does_not_begin_anew_if_no_file_names_its_checkpoints(tmp_path):
    checkpoints = Checkpoints(str(tmp_path), make_variables(0), [])
    assert not is_begun(tmp_path / "none") and not is_begun(tmp_path)
    for step, is_evaluated in [(9, False), (10, False), (10, True)]:
        checkpoints.write(RunState({"is": [step, is_evaluated]}), step, is_evaluated)
    (tmp_path / "checkpoint").rename(tmp_path / "state")
    assert checkpoints.read_run_state().values == {"is": [10, True]} and is_begun(tmp_path)
    (tmp_path / "evaluated-10.index").unlink()
    assert checkpoints.read_run_state().values == {"is": [10, False]}
    (tmp_path / "state").rename(tmp_path / "checkpoint")  # It names the one that is removed.
    assert checkpoints.read_run_state().values == {"is": [10, False]}
    (tmp_path / "ckpt-10.index").unlink()
    assert is_begun(tmp_path)
    with pytest.raises(ValueError, match="must hold a checkpoint"):
        checkpoints.read_run_state()


def test_a_checkpoint_of_other_variables_is_refused(tmp_path):
    variables = make_variables(0)
    Checkpoints(str(tmp_path), variables, []).write(RunState({}), 1, False)
    other = Checkpoints(str(tmp_path), [*variables, tf.Variable(0.0)], [])
    with pytest.raises(AssertionError):
        other.restore_variables()


@pytest.fixture
def settings(corpus):
    def make(options=OPTIONS, corpus=corpus, steps=9):
        return run_settings(model, options, corpus, steps)

    model = make_model()
    return make


@pytest.mark.parametrize(
    "name, value",
    [
        ("dropout", 0.5), ("unroll_steps", 6), ("batch_size", 3), ("seed", 1), ("shuffle", False),
        ("zero_starts", False), ("optimizer", "adam"), ("dtype", "mixed_bfloat16"),
        ("matmul_dtype", "bfloat16"),
    ],
)  # fmt: skip
def test_other_options_are_another_run(settings, name, value):
    now = settings(dataclasses.replace(OPTIONS, **{name: value}))
    expected = f"FOLDER.*{name}: {getattr(OPTIONS, name)!r} before, {value!r} now$"
    with pytest.raises(ValueError, match=expected):
        check_same_run(settings(), now, "FOLDER")


def test_other_texts_words_and_models_are_another_run(settings, corpus, tmp_path):
    (tmp_path / "other.txt").write_text("a b c\n" * 9)
    before = settings()
    assert before["corpus"] == [list(pair) for pair in corpus.file_counts()]
    for now, name in [
        (settings(corpus=Corpus(tmp_path / "other.txt")), "corpus"),
        (settings(corpus=Corpus(corpus.files, "latin-1")), "encoding"),
        (settings(corpus=Corpus(corpus.files, errors="replace")), "errors"),
        ({**before, "vocabulary": "0" * 64}, "vocabulary"),
        ({**before, "lstm": {**before["lstm"], "dim": 16}}, "lstm"),
    ]:
        with pytest.raises(ValueError, match=f" {name}: "):
            check_same_run(before, now, "run")


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.filterwarnings("error")
def test_only_with_a_constant_learning_rate_the_number_of_steps_may_change(settings, schedule):
    options = dataclasses.replace(OPTIONS, schedule=schedule)
    more_epochs = dataclasses.replace(options, epochs=9)
    check_same_run(settings(options), settings(more_epochs), "run")  # as many steps
    if schedule == "constant":
        context = pytest.warns(UserWarning, match=r"begun with 9 steps, and now ends after 2,000")
    else:
        context = pytest.raises(ValueError, match=f"steps: 9 before, 2000 now.*{schedule}")
    with context:
        check_same_run(settings(options), settings(more_epochs, steps=2000), "run")


def test_the_state_of_a_run_is_kept_as_float32():
    values = {"step": 7, "best": float("inf"), "heldout": None, "run": {"filters": [[1, 4]]}}
    state = [np.random.normal(size=(3, size)).astype(np.float32) for size in (2, 5)]
    half = state[0].astype(ml_dtypes.bfloat16)
    read = RunState()
    read.deserialize(RunState(values, [*state, half]).serialize())
    assert read.values == values and {array.dtype.name for array in read.lstm_state} == {"float32"}
    for array, expected in zip(read.lstm_state, [*state, half], strict=True):
        np.testing.assert_array_equal(array, expected.astype(np.float32))
