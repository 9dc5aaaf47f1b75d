"""`BackupAndResume`: a run that is stopped goes on to the numbers that it would have had."""

import contextlib
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

    def begin(self, model, run, heldout, step):
        """Resumes the run, if there is a checkpoint.

        Args:
            model: a `BiLanguageModel` with lanes and a built optimizer.
            run, heldout: dicts, the settings of the run and of its held-out text.
            step: int. Where the run begins without a checkpoint.

        Returns:
            The steps that were taken, and whether the epoch of the last of them has ended.
        """
        variables = model.variables_of_run()
        self._checkpoints = Checkpoints(os.path.join(self.folder, FOLDER), variables)
        self._run = json.loads(json.dumps({"run": run, "heldout": heldout}))
        self.step, self.saved_step, self.best = step, None, math.inf
        progress = self._checkpoints.read_progress()
        if progress is None:
            return step, True
        check_same_run(progress["run"], self._run["run"], self.folder)
        self._checkpoints.restore()
        self.step = self.saved_step = progress["step"]
        if progress["heldout"] != self._run["heldout"]:
            return self.step, True
        self.best = progress["best"]
        return self.step, progress["is_epoch_ended"]

    def last_place(self):
        """The step of the last checkpoint, or 0; and whether no epoch waits for its end there."""
        progress = Checkpoints(os.path.join(self.folder, FOLDER)).read_progress()
        return (progress["step"], progress["is_epoch_ended"]) if progress else (0, True)

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
        progress = {**self._run, "step": self.step, "best": self.best}
        try:
            self._checkpoints.write(self.step, {**progress, "is_epoch_ended": is_epoch_ended})
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


class Checkpoints:
    """The checkpoints of a training run, in a folder: zip files, as `np.load` reads them."""

    def __init__(self, folder, variables=()):
        self.folder = folder
        self._variables = list(variables)

    def write(self, step, progress):
        """Writes a checkpoint, with a dict that JSON can hold; one of the same step is replaced."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, f"step-{step:010}.npz")  # names sort by the step
        with replacing_file(path) as temporary, zipfile.ZipFile(temporary, "w") as archive:
            archive.writestr(_PROGRESS, json.dumps(progress))
            for index, variable in enumerate(self._variables):
                array = keras.ops.convert_to_numpy(variable)
                if array.dtype.kind not in "iu":  # integers are seeds and counts
                    array = array.astype(np.float32, copy=False)  # also of bfloat16
                    if not np.isfinite(array).all():
                        raise FloatingPointError(f"{variable.path} is no longer finite")
                with archive.open(f"{_VARIABLE}-{index}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array)
        for name in checkpoint_names(self.folder)[:-_NUM_KEPT]:
            os.remove(os.path.join(self.folder, name))

    def read_progress(self):
        """The progress that the last checkpoint holds, or `None` if there is none."""
        if not checkpoint_names(self.folder):
            return None
        with self._opened_last() as arrays:
            return json.loads(arrays[_PROGRESS])

    def restore(self):
        """Assigns to the variables what the last checkpoint holds."""
        with self._opened_last() as arrays:
            values = [arrays[f"{_VARIABLE}-{k}"] for k in range(len(self._variables))]
        for variable, value in zip(self._variables, values, strict=True):
            variable.assign(value)

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


def run_settings(model, corpus):
    """What the runs of a compiled model and of a corpus must have in common."""
    optimizer = model.optimizer.get_config() | {"name": type(model.optimizer).__name__}
    return {
        **model.config.to_options(),
        **{f"optimizer's {name}": value for name, value in optimizer.items()},
        **{name: getattr(model, name) for name in ("dropout", "num_negatives", "zero_starts")},
        "dtype": model.dtype_policy.name,
        "matmul_dtype": model.matmul_dtype,
        "vocabulary": model.vocabulary.digest(),
        **corpus_settings(corpus),
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
    """Refuses to resume a run with other settings than those that it began with.

    The number of its steps may change: where the learning rate depends on it, the schedule of the
    optimizer is another.
    """
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
