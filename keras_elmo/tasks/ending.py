"""When `fit` ends, whose weights stay, and what their score is."""

import collections
import hashlib
import os

import keras
import numpy as np
from keras import ops

from keras_elmo.files.atomic import replacing_files

# Epochs of `fit` without `epochs` and without validation data, see benchmarks/results/epochs.md.
MIN_EPOCHS, MAX_EPOCHS = 8, 80
FINE_TUNING_EPOCHS = 4  # where LSTM layers train


def choose_ending(model, epochs, callbacks, num_texts):
    """The number of epochs, and the callbacks of the user after those that `fit` adds.

    `num_texts` is that of an epoch, or `None` with validation data.
    """
    callbacks = keras.tree.flatten([callbacks or []])
    if epochs is not None:
        return epochs, callbacks
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    is_chosen = getattr(optimizer, "use_ema", False) or any(map(_chooses_weights, callbacks))
    added, epochs = [], MAX_EPOCHS
    if num_texts is None:
        added = [model.early_stopping()]
        added[0].restore_best_weights = not is_chosen
    else:
        epochs = min(epochs, max(MIN_EPOCHS, round(model.texts_read / num_texts)))
        if model.trainable_part in ("bilm", "all"):
            epochs = FINE_TUNING_EPOCHS
        if not is_chosen:
            added = [_MeanOfEpochs()]
    backups = [each for each in callbacks if isinstance(each, keras.callbacks.BackupAndRestore)]
    for callback in added if backups else ():
        callback.folder = backups[0].backup_dir
    return epochs, [*added, *callbacks]


def _chooses_weights(callback):
    kinds = keras.callbacks.EarlyStopping, keras.callbacks.SwapEMAWeights
    return isinstance(callback, kinds) and getattr(callback, "restore_best_weights", True)


class _Resumable(keras.callbacks.Callback):
    """Keeps its `state`, a dict of arrays, beside the backups of Keras's `BackupAndRestore`."""

    folder, _is_begun = None, False

    def on_epoch_begin(self, epoch, logs=None):
        super().on_epoch_begin(epoch, logs)
        self._resume(epoch)

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if self.folder is not None:
            os.makedirs(self.folder, exist_ok=True)
            with replacing_files(self._path(epoch + 1)) as (part,), open(part, "wb") as file:
                np.savez(file, next_epoch=epoch + 1, **self.state)

    def on_train_end(self, logs=None):
        self._resume(self.params["epochs"])  # if no epoch was left
        super().on_train_end(logs)

    def _path(self, epoch):
        # Of two epochs: the process may end between this file and the backup.
        return os.path.join(self.folder, f"ending-{epoch % 2}.npz")

    def _resume(self, epoch):
        is_begun, self._is_begun = self._is_begun, True
        if is_begun or self.folder is None or not os.path.exists(self._path(epoch)):
            return
        with np.load(self._path(epoch)) as file:
            state = dict(file)
        if state.pop("next_epoch") == epoch:
            self.state = state


class _MeanOfEpochs(_Resumable):
    """Ends with the mean of the weights after each epoch of the second half: they differ by chance.

    Reference: Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima and Better
    Generalization".
    """

    def __init__(self):
        super().__init__()
        # By the paths of variables, since layers may be frozen, or not any more, meanwhile.
        self._sums, self._counts = {}, collections.Counter()

    @property
    def state(self):
        counts = {f"count/{path}": count for path, count in self._counts.items()}
        return {**{f"sum/{path}": total for path, total in self._sums.items()}, **counts}

    @state.setter
    def state(self, state):
        for name, value in state.items():
            kind, _, path = name.partition("/")
            (self._sums if kind == "sum" else self._counts)[path] = value

    def on_epoch_end(self, epoch, logs=None):
        if epoch >= self.params["epochs"] // 2:
            paths = {variable.path for variable in self.model.trainable_variables} | {*self._sums}
            for variable in self.model.weights:
                if (path := variable.path) in paths:
                    self._sums[path] = self._sums.get(path, 0.0) + ops.convert_to_numpy(variable)
                    self._counts[path] += 1
        super().on_epoch_end(epoch, logs)

    def on_train_end(self, logs=None):
        super().on_train_end(logs)
        for variable in self.model.weights:
            if variable.path in self._sums:
                variable.assign(self._sums[variable.path] / self._counts[variable.path])


class BestEpoch(_Resumable, keras.callbacks.EarlyStopping):
    """Keras's `EarlyStopping` at the metric that counts, with the weights of the best epoch."""

    def __init__(self, metric, patience):
        mode = "min" if metric == "loss" else "max"
        super().__init__(f"val_{metric}", patience=patience, mode=mode, restore_best_weights=True)

    @property
    def state(self):
        weights = {f"weights/{k}": value for k, value in enumerate(self.best_weights or [])}
        best = np.nan if self.best is None else self.best
        return {"best": best, "best_epoch": self.best_epoch, "wait": self.wait, **weights}

    @state.setter
    def state(self, state):
        if not np.isnan(state["best"]):
            self.best, self.best_epoch = float(state["best"]), int(state["best_epoch"])
            self.wait = int(state["wait"])
            self.best_weights = [state[f"weights/{k}"] for k in range(len(state) - 3)] or None


class Scores(keras.callbacks.Callback):
    """What the weights of each evaluation in `fit` reached at a metric."""

    def __init__(self, metric):
        super().__init__()
        self._metric, self._scores = metric, {}

    def on_test_end(self, logs=None):
        if logs and self._metric in logs:
            self._scores[digest(self.model.trainable_variables)] = float(logs[self._metric])

    def of_weights(self):
        """The metric, its value and the digest of all weights, if those that the model has now
        were evaluated, or else `None`."""
        score = self._scores.get(digest(self.model.trainable_variables))
        return None if score is None else (self._metric, score, digest(self.model.weights))


def digest(variables):
    """The SHA-256 of the values of variables."""
    result = hashlib.sha256()
    for variable in variables:
        result.update(np.ascontiguousarray(ops.convert_to_numpy(variable)).data.cast("B"))
    return result.hexdigest()
