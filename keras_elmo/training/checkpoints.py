"""`Checkpoints`: what a training run resumes from, and what both runs must have in common."""

import contextlib
import dataclasses
import json
import os
import zipfile

import numpy as np

from keras_elmo.checks import short_repr, warn
from keras_elmo.files.atomic import replacing_file

_NUM_KEPT = 2  # the newest checkpoints: if writing one fails, the one before is still there
_PROGRESS, _STATE, _VARIABLE = "progress.json", "state", "variable"  # the members of a checkpoint


class Checkpoints:
    """The checkpoints of a training run, in a folder: zip files, as `np.load` reads them."""

    def __init__(self, folder, variables):
        self.folder = folder
        self._variables = list(variables)

    def write(self, step, progress, lstm_state):
        """Writes a checkpoint, with a dict that JSON can hold; one of the same step is replaced."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, f"step-{step:010}.npz")  # names sort by the step
        with replacing_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr(_PROGRESS, json.dumps(progress))
            for kind, tensors in ((_STATE, lstm_state), (_VARIABLE, self._variables)):
                for index, tensor in enumerate(tensors):
                    array = tensor.numpy().astype(np.float32, copy=False)  # also of bfloat16
                    with archive.open(f"{kind}-{index}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, array)
        for name in checkpoint_names(self.folder)[:-_NUM_KEPT]:
            os.remove(os.path.join(self.folder, name))

    def read_progress(self):
        """The progress that the last checkpoint holds, or `None` if there is none."""
        if not checkpoint_names(self.folder):
            return None
        with self._opened_last() as arrays:
            return json.loads(arrays[_PROGRESS])

    def restore(self, num_states):
        """Assigns to the variables what the last checkpoint holds. Returns the LSTM state."""
        with self._opened_last() as arrays:
            for index, variable in enumerate(self._variables):
                variable.assign(arrays[f"{_VARIABLE}-{index}"])
            return [arrays[f"{_STATE}-{index}"] for index in range(num_states)]

    @contextlib.contextmanager
    def _opened_last(self):
        path = os.path.join(self.folder, checkpoint_names(self.folder)[-1])
        try:
            with np.load(path) as arrays:
                yield arrays
        except Exception as error:  # Of a damaged zip, NumPy and Python have many.
            if isinstance(error, MemoryError) or getattr(error, "errno", None):
                raise
            raise ValueError(
                f"The checkpoint {path} must be whole; remove it to resume from the one before it. "
                f"Received: {error}"
            ) from None


def checkpoint_names(folder):
    """The names of the checkpoints, the oldest first."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(name for name in names if name.startswith("step-") and name.endswith(".npz"))


def run_settings(trainer):
    """What a `Trainer` must have in common with the run that it resumes."""
    return {
        **trainer.model.config.to_options(),
        **dataclasses.asdict(trainer.options),
        "vocabulary": trainer.model.vocabulary.digest(),
        **corpus_settings(trainer.corpus),
        "steps": trainer.num_steps,
    }


def corpus_settings(corpus):
    """How a corpus is read, and the sentences and tokens of each file; `None` for no corpus."""
    return corpus and {
        "corpus": [list(pair) for pair in corpus.file_counts()],
        "encoding": corpus.encoding,
        "errors": corpus.errors,
        "tokenizer": corpus.tokenizer,
    }


def check_same_run(before, now, folder):
    """Refuses to resume a run with other `run_settings` than those that it began with.

    The number of steps may change if the learning rate does not depend on it; a warning says so.
    """
    now = json.loads(json.dumps(now))  # as they would be read from a checkpoint
    steps, new_steps = before["steps"], now["steps"]
    before = {**before, "epochs": now["epochs"]}  # it matters for the steps alone
    if now["schedule"] == "constant":
        before["steps"] = new_steps
    changes = [
        f"{name}: {short_repr(before.get(name))} before, {short_repr(now.get(name))} now"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
    if changes:
        raise ValueError(
            f"A run in {folder} must be resumed with the settings that it began with (and with "
            "as many steps, if the schedule is not `constant`); or begin another from its weights. "
            f"Received: {'; '.join(changes)}"
        )
    if steps != new_steps:
        warn(
            f"The run in {folder} was begun with {steps:,} steps, and now ends after "
            f"{new_steps:,}. That changes none of its steps"
        )
