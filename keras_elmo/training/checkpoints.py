"""`BackupAndResume`: a run that is stopped goes on to the numbers that it would have had."""

import glob
import json
import math
import os
import zipfile

import keras
import numpy as np

from keras_elmo.checks import check_integers, short_repr
from keras_elmo.files.atomic import replacing_file
from keras_elmo.process.signals import check_signals, noted_signal

FOLDER = "checkpoints"  # in the folder of a run
_NUM_KEPT = 2  # the newest checkpoints: if writing one fails, the one before is still there
_PROGRESS, _VARIABLE = "progress.json", "variable"  # the members of a checkpoint


class BackupAndResume(keras.callbacks.Callback):
    """Lets `BiLanguageModel.fit` go on where it was stopped, and keeps the best model.

    The `fit` of a model with the same settings and a callback of the same folder goes on after the
    last checkpoint, within an epoch too: weights, optimizer, the state of the lanes, the place in
    the text and the best perplexity are those of a run that was never stopped. (`BackupAndRestore`
    of Keras begins the epoch anew.) What other callbacks count, as the patience of `EarlyStopping`,
    begins anew. SIGINT (Ctrl-C) and SIGTERM end a run after the present step, with a checkpoint.

    Args:
        folder: path of a folder. It gets the model, as `save_pretrained` writes it: that with the
            lowest `val_perplexity`, or without `validation_data` the last one. In `checkpoints` are
            the two newest checkpoints.
        save_freq: int. The number of steps from one checkpoint to the next. An evaluation
            ends with one, too.

    Attributes:
        step: int. The steps that were taken.
        best: float. The lowest `val_perplexity`, or infinity.

    Raises (in `fit`):
        ValueError: the checkpoint is damaged, or of a run with other settings or another text.
        OSError: a checkpoint could not be written.
        FloatingPointError: the loss or a weight is no longer finite. No checkpoint is written then.
    """

    def __init__(self, folder, save_freq=500):
        super().__init__()
        check_integers(1, save_freq=save_freq)
        self.folder, self.save_freq = os.fspath(folder), save_freq
        self.step, self.saved_step, self.best = 0, None, math.inf
        self._checkpoints = os.path.join(self.folder, FOLDER)

    def last_progress(self, run):
        """The progress that the last checkpoint holds, or `None`; `run` are the run's settings."""
        progress, _ = read_checkpoint(self._checkpoints)
        if progress is not None:
            check_same_run(progress["run"], run, self.folder)
        return progress

    def begin(self, model, run, heldout, step):
        """Resumes the run, if there is a checkpoint; without one it begins at `step`.

        The model has lanes and a built optimizer; `run` and `heldout` are the settings of the run
        and of its held-out text. Returns the steps that were taken, and whether the epoch of the
        last of them has ended.
        """
        self._run = {"run": run, "heldout": heldout}
        self.step, self.saved_step, self.best = step, None, math.inf
        progress = self.last_progress(run)
        if progress is None:
            return step, True
        variables = model.variables_of_run()
        _, values = read_checkpoint(self._checkpoints, len(variables))
        for variable, value in zip(variables, values, strict=True):
            variable.assign(value)
        self.step = self.saved_step = progress["step"]
        if progress["heldout"] != heldout:
            return self.step, True
        self.best = progress["best"]
        return self.step, progress["is_epoch_ended"]

    def on_epoch_begin(self, epoch, logs=None):
        self._first = epoch * self.params["steps"]  # the steps before this epoch

    def on_train_batch_end(self, batch, logs=None):
        step = self._first + batch + 1
        if step <= self.step:  # of an epoch that is resumed
            return
        loss = logs["loss"]
        if not math.isfinite(loss):
            self._fail(f"the loss is {loss}")
        before, self.step = self.step, step
        is_last = batch + 1 == self.params["steps"]
        is_regular = step // self.save_freq > before // self.save_freq
        if noted_signal() is not None or is_regular:
            self.save(is_epoch_ended=not is_last)
        self._check_signals()

    def on_test_batch_end(self, batch, logs=None):
        self._check_signals()

    def on_epoch_end(self, epoch, logs=None):
        perplexity = logs.get("val_perplexity")
        if perplexity is not None and (perplexity < self.best or self.best == math.inf):
            self.best = perplexity
            self.model.save_pretrained(self.folder)
        if perplexity is not None or self.saved_step == self.step:
            self.save(is_epoch_ended=True)

    def on_train_end(self, logs=None):
        if self.saved_step != self.step:
            self.save(is_epoch_ended=True)
        if self._run["heldout"] is None:
            self.model.save_pretrained(self.folder)

    def save(self, is_epoch_ended):
        """Writes a checkpoint."""
        if hasattr(self.model, "jax_state_sync"):
            self.model.jax_state_sync()
        progress = {"step": self.step, "best": self.best, "is_epoch_ended": is_epoch_ended}
        variables = self.model.variables_of_run()
        try:
            write_checkpoint(self._checkpoints, variables, self._run | progress)
        except FloatingPointError as error:
            self._fail(error)
        self.saved_step = self.step

    def _fail(self, fault):
        raise FloatingPointError(
            f"At step {self.step} {fault}. Begin again with a smaller learning rate or with warm-up"
        )

    def _check_signals(self):
        step = self.saved_step
        resume = f"resume from the checkpoint of step {step} with --resume"
        check_signals("nothing was kept" if step is None else resume)


def write_checkpoint(folder, variables, progress):
    """Writes a zip file, as `np.load` reads it, with a dict that JSON can hold.

    The file of a step, `progress["step"]`, is replaced, and old ones are removed.
    """
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"step-{progress['step']:010}.npz")  # names sort by the step
    with replacing_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        archive.writestr(_PROGRESS, json.dumps(progress))
        for index, variable in enumerate(variables):
            array = keras.ops.convert_to_numpy(variable)
            if array.dtype.kind not in "iu":  # integers are seeds and counts
                array = array.astype(np.float32, copy=False)  # also of bfloat16
                if not np.isfinite(array).all():
                    raise FloatingPointError(f"{variable.path} is no longer finite")
            with archive.open(f"{_VARIABLE}-{index}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array)
    for name in checkpoint_names(folder)[:-_NUM_KEPT]:
        os.remove(os.path.join(folder, name))


def read_checkpoint(folder, num_variables=0):
    """The progress that the last checkpoint holds, or `None`; and the values of its variables."""
    names = checkpoint_names(folder)
    if not names:
        return None, []
    path = os.path.join(folder, names[-1])
    try:
        with np.load(path) as arrays:
            values = [arrays[f"{_VARIABLE}-{index}"] for index in range(num_variables)]
            return json.loads(arrays[_PROGRESS]), values
    except Exception as error:  # Of a damaged zip, NumPy and Python have many.
        if isinstance(error, MemoryError) or getattr(error, "errno", None):
            raise
        raise ValueError(
            f"The checkpoint {path} must be whole; remove it to resume from the one before it. "
            f"Received: {error}"
        ) from None


def checkpoint_names(folder):
    """The names of the checkpoints, the oldest first."""
    return sorted(glob.glob("step-*.npz", root_dir=folder))


def run_settings(model, corpus, **windows):
    """What the runs of a compiled model and of a corpus must have in common, as JSON has it.

    `windows` are `batch_size`, `unroll_steps`, `shuffle` and `seed`. The number of steps may
    change: where the learning rate depends on it, the schedule of the optimizer is another.
    """
    optimizer = model.optimizer.get_config() | {"name": type(model.optimizer).__name__}
    settings = {
        **windows,
        **model.config.to_options(),
        **{f"optimizer's {name}": value for name, value in optimizer.items()},
        **{name: getattr(model, name) for name in ("dropout", "num_negatives", "zero_starts")},
        "dtype": model.dtype_policy.name,
        "matmul_dtype": model.matmul_dtype,
        "vocabulary": model.vocabulary.digest(),
        **corpus_settings(corpus),
    }
    return json.loads(json.dumps(settings))


def corpus_settings(corpus):
    """How a corpus is read, and the sentences and tokens of each file; `None` for no corpus."""
    return corpus and {
        "corpus": [list(pair) for pair in corpus.file_counts()],
        **{name: getattr(corpus, name) for name in ("encoding", "errors", "tokenizer")},
    }


def check_same_run(before, now, folder):
    """Refuses to resume a run with other settings than those that it began with."""
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
