"""`Checkpoints`: what a training run resumes from, and what both runs must have in common."""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import warnings

import numpy as np
import tensorflow as tf

from keras_elmo.checks import short_repr
from keras_elmo.files.atomic import tensorflow_reason
from keras_elmo.weights.tf_checkpoint import CHECKPOINT_ERRORS

_RUN_STATE_KEY = "progress/.ATTRIBUTES/py_state"
_STATE_FILE = "checkpoint"  # TensorFlow's, which names the last checkpoint
_INDEX = ".index"  # the end of the name of a checkpoint's file, which appears when it is whole
_EVALUATED = "evaluated"
_NUM_KEPT = 2  # the newest checkpoints: if writing one fails, the one before is still there


class Checkpoints:
    """The checkpoints of a training run, in a folder.

    Args:
        folder: path.
        variables: list of the `tf.Variable`s that are trained.
        accumulators: list of the `tf.Variable`s of the optimizer.
    """

    def __init__(self, folder, variables, accumulators):
        self.folder = folder
        self._variables, self._accumulators = list(variables), list(accumulators)

    def num_bytes(self):
        """About how many bytes a checkpoint has: those of the variables. (The rest is little.)"""
        variables = [*self._variables, *self._accumulators]
        return sum(v.dtype.size * v.shape.num_elements() for v in variables)

    def write(self, run_state, step, is_evaluated):
        """Writes a checkpoint. The one before it is kept until then.

        Args:
            run_state: a `RunState`.
            step: int.
            is_evaluated: bool. Whether the held-out text was evaluated at this step. A step may
                have a checkpoint before its evaluation and one after it. Their names differ, since
                TensorFlow does not overwrite files.

        Raises:
            OSError: the checkpoint could not be written.
        """
        try:
            manager = tf.train.CheckpointManager(
                self._checkpoint(run_state),
                self.folder,
                _NUM_KEPT,
                checkpoint_name=_EVALUATED if is_evaluated else "ckpt",
            )
            manager.save(step)
        except (OSError, tf.errors.OpError) as error:
            reason = error if isinstance(error, OSError) else tensorflow_reason(error)
            raise OSError(
                f"The checkpoint of step {step} could not be written to {self.folder}: {reason}. "
                "Make room, and resume with --resume from the one before it"
            ) from None

    def read_run_state(self):
        """The `RunState` of the last checkpoint, or `None` if there is none."""
        prefix = self._latest()
        if prefix is None:
            return None
        run_state = RunState()
        with _naming_what_is_damaged(prefix):
            run_state.deserialize(tf.train.load_checkpoint(prefix).get_tensor(_RUN_STATE_KEY))
        return run_state

    def restore_variables(self):
        """Assigns to the variables the values that the last checkpoint holds."""
        prefix = self._latest()
        with _naming_what_is_damaged(prefix):
            self._checkpoint(RunState()).restore(prefix).assert_consumed()

    def _latest(self):
        """The path of the last checkpoint, or `None` if none was written.

        TensorFlow's state file is not read: after a kill it may be missing, or name the one before.
        """
        if not is_begun(self.folder):
            return None
        names = [name for name in os.listdir(self.folder) if name.endswith(_INDEX)]
        if not names:
            raise ValueError(
                f"{self.folder} must hold a checkpoint. Copy the folder again. Received: a folder "
                f"with a file named {_STATE_FILE}, but no *{_INDEX}"
            )
        return os.path.join(self.folder, max(names, key=_order).removesuffix(_INDEX))

    def _checkpoint(self, run_state):
        return tf.train.Checkpoint(
            variables=self._variables, accumulators=self._accumulators, progress=run_state
        )


def is_begun(folder):
    """Whether a folder holds a checkpoint, or TensorFlow's file that names one."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return any(name == _STATE_FILE or name.endswith(_INDEX) for name in names)


def _order(name):
    """Sorts checkpoints by their steps; of a step, the one after an evaluation is newer."""
    kind, _, step = name.removesuffix(_INDEX).rpartition("-")
    return int(step) if step.isdecimal() else -1, kind == _EVALUATED


@contextlib.contextmanager
def _naming_what_is_damaged(prefix):
    try:
        yield
    except CHECKPOINT_ERRORS as error:
        raise ValueError(
            f"The checkpoint {prefix} must be whole. Remove its files to resume from the one "
            f"before it, or begin again in another folder. Received: {error}"
        ) from None


class RunState(tf.train.experimental.PythonState):
    """How far a run has come: numbers that JSON can hold, and the LSTM state of every lane.

    TensorFlow saves it in a checkpoint as one string, and reads it back from there.

    Args:
        values: dict that JSON can hold.
        lstm_state: list of NumPy arrays, (lanes, size).
    """

    def __init__(self, values=None, lstm_state=()):
        self.values, self.lstm_state = values, list(lstm_state)

    def serialize(self):
        file = io.BytesIO()
        # NumPy's own file format does not know bfloat16.
        arrays = [array.astype(np.float32) for array in self.lstm_state]
        np.savez(file, json.dumps(self.values), *arrays)
        return file.getvalue()

    def deserialize(self, string_value):
        arrays = np.load(io.BytesIO(string_value))
        values, *self.lstm_state = (arrays[name] for name in arrays.files)
        self.values = json.loads(str(values))


def run_settings(model, options, corpus, num_steps):
    """The settings of a run, as a dict that a checkpoint holds."""
    words = "\n".join(model.vocabulary.words).encode("utf-8", "surrogateescape")
    return {
        **model.config.to_options(),
        **dataclasses.asdict(options),
        "vocabulary": hashlib.sha256(words).hexdigest(),
        **corpus_settings(corpus),
        "steps": num_steps,
    }


def corpus_settings(corpus):
    """How a corpus is read, and the sentences and tokens of each file; `None` for no corpus."""
    return corpus and {
        "corpus": [list(pair) for pair in corpus.file_counts()],
        "encoding": corpus.encoding,
        "errors": corpus.errors,
    }


def check_same_run(before, now, folder):
    """Refuses to resume a run with other settings than those that it began with.

    The number of steps may change if the learning rate does not depend on it; a warning says so.

    Args:
        before, now: dicts of `run_settings`, of the checkpoint and of the run that is to resume.
        folder: path, which the error names.
    """
    now = json.loads(json.dumps(now))  # as they would be read from a checkpoint
    steps, new_steps = before["steps"], now["steps"]
    before = {**before, "epochs": now["epochs"]}  # it matters for the steps alone
    may_change = now["schedule"] == "constant"
    if may_change:
        before["steps"] = new_steps
    changes = [
        f"{name}: {short_repr(before.get(name))} before, {short_repr(now.get(name))} now"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if changes:
        hint = ""
        if steps != new_steps and not may_change:
            hint = (
                f". With the schedule {now['schedule']!r}, the learning rate of every step depends "
                "on the number of all steps. To train for longer, begin a new run from the weights "
                "of this one"
            )
        raise ValueError(
            f"The checkpoint in {folder} is of another run; resume with what it was made "
            f"with, or take another folder. {'; '.join(changes)}{hint}"
        )
    if steps != new_steps:
        warnings.warn(
            f"The run in {folder} was begun with {steps:,} steps, and now ends after "
            f"{new_steps:,}. That changes none of its steps, since its learning rate does not "
            "depend on their number",
            stacklevel=3,
        )
