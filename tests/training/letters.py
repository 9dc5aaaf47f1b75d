"""A corpus, a model and trainers that are small, for the tests of training."""

import keras_elmo
from keras_elmo import BiLanguageModel
from keras_elmo.training import Trainer, TrainingOptions

WORDS = ["<S>", "</S>", "<UNK>", *"abcdefghijklmnopqrstuvwx"]
CONFIG = keras_elmo.ElmoConfig(
    12, 6, num_layers=1, character_dim=4, filters=[(1, 4), (2, 4)], num_highway=1
)
OPTIONS = TrainingOptions(
    batch_size=4, unroll_steps=5, dropout=0.1, num_negatives=6, epochs=3, seed=5
)
# The fields of `TrainingOptions` that are in the graph of a training step.
_IN_GRAPH = (
    "batch_size", "unroll_steps", "dropout", "optimizer", "clip_norm", "num_negatives",
    "zero_starts", "dtype", "matmul_dtype", "seed",
)  # fmt: skip
_traced = {}  # options in the graph -> a model and its training step


def write_letters(path, rng, num_lines):
    """Writes sentences in which each letter is followed by the next letter of the alphabet."""
    lines = []
    for _ in range(num_lines):
        start, length = rng.integers(0, 18), rng.integers(3, 7)
        lines.append(" ".join(WORDS[3 + start : 3 + start + length]))
    path.write_text("\n".join(lines), encoding="utf-8")


def make_trainer(corpus, folder=None, options=OPTIONS, is_new=False, **kwargs):
    """A trainer at its first step, with new weights.

    Trainers of the same options share a model and its training step, because tracing a step takes
    seconds. Each new trainer takes them away from the one before. With `is_new`, they are new, too.
    """
    key = tuple(getattr(options, name) for name in _IN_GRAPH)
    if is_new:
        _traced.pop(key, None)
    model = _traced[key][0] if key in _traced else make_model(options)
    model.initialize(options.seed)
    trainer = Trainer(model, corpus, options, folder, **kwargs)
    new_step = trainer.training_step
    _, trainer.training_step = _traced.setdefault(key, (model, new_step))
    shared = trainer.training_step.optimizer.accumulators
    for variable, value in zip(shared, new_step.optimizer.accumulators, strict=True):
        variable.assign(value.numpy())
    return trainer


def make_model(options=OPTIONS):
    model = BiLanguageModel(CONFIG, WORDS, dtype=options.dtype)
    model.initialize(options.seed)
    return model


def run_losses(trainer):
    """Runs a trainer to its end: the loss of each step."""
    losses = []
    trainer.run(lambda metrics: losses.append(metrics["loss"]))
    return losses


def variables_of(trainer):
    """All that a training step changes: weights and accumulators."""
    step = trainer.training_step
    return [*step.variables, *step.optimizer.accumulators]


def values_of(trainer):
    return [variable.numpy() for variable in variables_of(trainer)]
