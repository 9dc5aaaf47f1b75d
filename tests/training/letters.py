"""A corpus, a model and trainings that are small, for the tests of training."""

import keras
import numpy as np

import keras_elmo
from keras_elmo import BiLanguageModel
from keras_elmo.training import LazyAdagrad, LazyAdam

WORDS = ["<S>", "</S>", "<UNK>", *"abcdefghijklmnopqrstuvwx"]
CONFIG = keras_elmo.ElmoConfig(
    12, 6, num_layers=1, character_dim=4, filters=[(1, 4), (2, 4)], num_highway=1
)
RATES = {LazyAdagrad: 0.2, LazyAdam: 0.001}
WINDOWS = {"batch_size": 4, "unroll_steps": 5, "seed": 5, "verbose": 0}  # arguments of `fit`
_compiled = {}  # arguments of `compile` -> a model, and the first values of its optimizer


def write_letters(path, rng, num_lines):
    """Writes sentences in which each letter is followed by the next letter of the alphabet."""
    lines = []
    for _ in range(num_lines):
        start, length = rng.integers(0, 18), rng.integers(3, 7)
        lines.append(" ".join(WORDS[3 + start : 3 + start + length]))
    path.write_text("\n".join(lines), encoding="utf-8")


def make_model(optimizer=LazyAdam, dtype="float32", clip_norm=1.0, is_new=False, **kwargs):
    """A compiled model before its first step.

    Models that are compiled alike are one, since tracing a step takes seconds: whoever makes the
    next takes it away from the one before. With `is_new` it is another.
    """
    kwargs = {"dropout": 0.0, "num_negatives": 6, **kwargs}
    key = optimizer, dtype, clip_norm, *sorted(kwargs.items())
    model, values = (None, None) if is_new else _compiled.get(key, (None, None))
    if model is None:
        model = BiLanguageModel(CONFIG, WORDS, dtype=dtype)
        model.compile(optimizer(RATES[optimizer], global_clipnorm=clip_norm), **kwargs)
        model.optimizer.build(model.trainable_variables)
        values = [keras.ops.convert_to_numpy(v) for v in model.optimizer.variables]
        if not is_new:
            _compiled[key] = model, values
    for variable, value in zip(model.optimizer.variables, values, strict=True):
        variable.assign(value)
    model.initialize(5)
    return model


def step_losses(model, corpus, num_steps, **kwargs):
    """Trains: the loss of each step. (In an epoch of several, Keras logs the mean of its steps.)"""
    kwargs = {**WINDOWS, "epochs": num_steps, "steps_per_epoch": 1, **kwargs}
    return np.array(model.fit(corpus, **kwargs).history["loss"])


def values_of(model):
    """All that a step changes, as arrays."""
    return [keras.ops.convert_to_numpy(variable) for variable in model.variables_of_run()]
