import numpy as np
import pytest
import tensorflow as tf
from training.letters import WORDS

from keras_elmo.training.checkpoints import Checkpoints, is_begun
from keras_elmo.training.optimizer import make_optimizer
from keras_elmo.training.run_state import RunState


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
def test_an_optimizer_goes_on_as_it_would_have(tmp_path, name):
    whole = make_variables(0)
    optimizer = make_optimizer(name, whole)
    take_steps(optimizer, whole, seed=1)
    state = [np.arange(6, dtype=np.float32).reshape(2, 3)]
    checkpoints = Checkpoints(str(tmp_path), whole, optimizer.accumulators)
    checkpoints.write(RunState({"step": 3}, state), 3, is_evaluated=False)
    take_steps(optimizer, whole, seed=2)

    resumed = make_variables(9)
    optimizer = make_optimizer(name, resumed)
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


def test_the_names_in_a_checkpoint_are_those_of_version_0_1_0(tmp_path):
    """Runs that 0.1.0 began go on."""
    variables = make_variables(0)
    accumulators = make_optimizer("adagrad", variables).accumulators
    Checkpoints(str(tmp_path), variables, accumulators).write(RunState({"step": 1}), 1, False)
    reader = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(tmp_path)))
    variable = "/.ATTRIBUTES/VARIABLE_VALUE"
    assert set(reader.get_variable_to_shape_map()) == {
        *(f"{name}/{k}{variable}" for name in ("variables", "accumulators") for k in range(2)),
        f"save_counter{variable}",
        "progress/.ATTRIBUTES/py_state",
        "_CHECKPOINTABLE_OBJECT_GRAPH",
    }


def test_a_checkpoint_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    checkpoints = Checkpoints(str(tmp_path / "file"), make_variables(0), [])
    with pytest.raises(OSError, match="checkpoint of step 6 could not be written to .*--resume"):
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
        with pytest.raises(ValueError, match="ckpt-1 must be whole. Name the one before it"):
            checkpoints.read_run_state()
            checkpoints.restore_variables()


def test_a_run_does_not_begin_anew_beside_checkpoints_that_nothing_names(tmp_path):
    checkpoints = Checkpoints(str(tmp_path), make_variables(0), [])
    assert not is_begun(tmp_path / "none") and not is_begun(tmp_path)
    for step, is_evaluated in [(9, False), (10, False), (10, True)]:
        checkpoints.write(RunState({"is": [step, is_evaluated]}), step, is_evaluated)
    state = (tmp_path / "checkpoint").read_text()
    (tmp_path / "checkpoint").unlink()
    assert checkpoints.read_run_state().values == {"is": [10, True]} and is_begun(tmp_path)
    (tmp_path / "evaluated-10.index").unlink()
    assert checkpoints.read_run_state().values == {"is": [10, False]}
    (tmp_path / "checkpoint").write_text(state)
    with pytest.raises(ValueError, match="must name a checkpoint of its folder"):
        checkpoints.read_run_state()


def test_a_checkpoint_of_other_variables_is_refused(tmp_path):
    variables = make_variables(0)
    Checkpoints(str(tmp_path), variables, []).write(RunState({}), 1, False)
    other = Checkpoints(str(tmp_path), [*variables, tf.Variable(0.0)], [])
    with pytest.raises(AssertionError):
        other.restore_variables()
