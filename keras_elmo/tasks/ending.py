"""When `fit` ends, whose weights stay, and what their score is."""

import keras
import numpy as np
from keras import ops

from keras_elmo.weights import hdf5

# Epochs of `fit` without `epochs` and without validation data, see benchmarks/results/epochs.md.
MIN_EPOCHS, MAX_EPOCHS = 8, 80
FINE_TUNING_EPOCHS = 4  # where LSTM layers train


def choose_ending(model, epochs, callbacks, num_texts):
    """The number of epochs, and the callbacks of the user after those that `fit` adds.

    `num_texts` is that of an epoch, or `None` with validation data.
    """
    callbacks, model.ending = keras.tree.flatten([callbacks or []]), None
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
    if any(isinstance(each, keras.callbacks.BackupAndRestore) for each in callbacks) and added:
        (model.ending,) = added
    return epochs, [*added, *callbacks]


def _chooses_weights(callback):
    kinds = keras.callbacks.EarlyStopping, keras.callbacks.SwapEMAWeights
    return isinstance(callback, kinds) and getattr(callback, "restore_best_weights", True)


class _MeanOfEpochs(keras.callbacks.Callback):
    """Ends with the mean of the weights after each epoch of the second half: they differ by chance.

    Reference: Izmailov et al. 2018, "Averaging Weights Leads to Wider Optima and Better
    Generalization".
    """

    def __init__(self):
        super().__init__()
        # Sums and counts of each variable: layers may be frozen, or not any more, meanwhile.
        self._totals = {}

    def on_epoch_end(self, epoch, logs=None):
        if epoch >= self.params["epochs"] // 2:
            trained = {id(variable) for variable in self.model.trainable_variables}
            for index, variable in enumerate(self.model.weights):
                total, count = self._totals.get(f"sum{index}", 0.0), f"count{index}"
                if id(variable) in trained or count in self._totals:
                    self._totals[f"sum{index}"] = total + ops.convert_to_numpy(variable)
                    self._totals[count] = self._totals.get(count, 0) + 1

    def on_train_end(self, logs=None):
        for index, variable in enumerate(self.model.weights):
            if count := self._totals.get(f"count{index}"):
                variable.assign(self._totals[f"sum{index}"] / count)

    def save_own_variables(self, store):
        for name, value in self._totals.items():
            store[name] = value

    def load_own_variables(self, store):
        self._totals = {name: np.array(store[name]) for name in store.keys()}


class BestEpoch(keras.callbacks.EarlyStopping):
    """Keras's `EarlyStopping` at the metric that counts, with the weights of the best epoch."""

    def __init__(self, metric, patience):
        mode = "min" if metric == "loss" else "max"
        super().__init__(f"val_{metric}", patience=patience, mode=mode, restore_best_weights=True)

    def save_own_variables(self, store):
        if self.best is not None:
            store["best"] = np.array([self.best, self.best_epoch, self.wait])
            for index, value in enumerate(self.best_weights or []):
                store[f"weight{index}"] = value

    def load_own_variables(self, store):
        if "best" in store.keys():
            self.best, self.best_epoch, self.wait = np.array(store["best"]).tolist()
            count = len(store.keys()) - 1
            self.best_weights = [np.array(store[f"weight{k}"]) for k in range(count)] or None


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
    return hdf5.digest_of_arrays(map(ops.convert_to_numpy, variables))
