"""Checks of the arguments of models: what trains, and models that must be loaded."""

import os
import warnings

import keras
import tensorflow as tf

from keras_elmo.models.sentences import MAX_TOKENS
from keras_elmo.weights import addresses, presets

TRAINABLE_PARTS = ("none", "mix", "bilm", "all")
# At 24 tokens a sentence, which is usual, they are as many as the largest batches of `embed` hold.
MAX_CALL_SENTENCES = MAX_TOKENS // 24
_has_warned_of_large_call = False


def check_trainable(value):
    """Returns a `trainable` argument as a bool, or raises a `ValueError`."""
    if isinstance(value, str) or value not in (True, False):
        part = value if value in TRAINABLE_PARTS else "mix"
        raise ValueError(
            "`trainable` must be True or False; what trains is an argument of its own: pass "
            f'trainable_part="{part}", one of {list(TRAINABLE_PARTS)}. '
            f"Received: trainable={value!r}"
        )
    return bool(value)


def check_part(part):
    """Returns a `trainable_part` argument, or raises a `ValueError`."""
    if part not in TRAINABLE_PARTS:
        raise ValueError(
            f"`trainable_part` must be one of {list(TRAINABLE_PARTS)}. "
            f"Received: trainable_part={part!r}"
        )
    return part


def translate_0_1_config(config):
    """The config of an `Elmo` or `ElmoEmbedding` as today's constructors take it.

    In version 0.1.0 there was no `trainable_part`: `trainable` named the part, and `True` meant
    all. A config of today is returned unchanged: that of an `Elmo` has a `trainable_part`, and an
    `ElmoEmbedding` leaves it to its `elmo`.
    """
    trainable = config.get("trainable")
    if isinstance(trainable, str):
        return {**config, "trainable": True, "trainable_part": trainable}
    is_elmo = "elmo" not in config
    if is_elmo and trainable is True and "trainable_part" not in config:
        return {**config, "trainable_part": "all"}
    return config


def refuse_pretrained_source(cls, config, weights=None, num_mixes=1, unknown=()):
    """Raises a `ValueError` if a constructor is called for a model that must be loaded.

    Args:
        cls: the class of the model.
        config: its first argument.
        weights: its second argument, which is the weight file in AllenNLP's `Elmo`.
        num_mixes: its third argument.
        unknown: the names of further arguments.
    """
    if isinstance(config, os.PathLike):
        config = os.fspath(config)
    source = config
    if isinstance(weights, str | os.PathLike) and os.fspath(weights).endswith((".hdf5", ".h5")):
        source = presets.name_of(os.fspath(weights)) or (config, os.fspath(weights))
    elif not isinstance(config, str) or not (
        config in presets.names()
        or addresses.is_address(config)
        or os.path.isdir(config)
        or config.endswith((".zip", ".hdf5", ".h5"))
    ):
        return
    mixes = f", num_mixes={num_mixes}" if num_mixes != 1 else ""
    dropout = " `dropout` is an argument of ElmoEmbedding." if "dropout" in unknown else ""
    raise ValueError(
        f"`config` must describe a model: {cls.__name__}(config) makes one with random weights. To "
        f"load one, write {cls.__name__}.from_pretrained({source!r}{mixes}).{dropout} "
        f"Received: config={config!r}"
    )


def warn_of_random_weights(options, stacklevel):
    """Warns that a model made from the path of an options.json has random weights."""
    warnings.warn(
        f"Elmo({options!r}) has random weights. To load a model, write "
        f"Elmo.from_pretrained(({options!r}, WEIGHTS)); for a new one without this "
        f"warning, Elmo(ElmoConfig.from_options({options!r}))",
        stacklevel=stacklevel + 1,
    )


def warn_of_large_call(model, inputs, stacklevel):
    """Warns, once in a process, of a user's call on more sentences than a batch should have.

    Calls by `fit` and `predict`, in a graph, and by a layer around the model are not a user's.

    Args:
        model: an `Elmo`.
        inputs: a tensor with a row for each sentence, or a symbolic one.
        stacklevel: int. As `warnings.warn` counts, from the caller of this function.
    """
    global _has_warned_of_large_call
    is_eager = tf.executing_eagerly() and not isinstance(inputs, keras.KerasTensor)
    runs_fit_eagerly = model.run_eagerly or tf.config.functions_run_eagerly()
    # Keras's layers call others within a name scope of their own.
    if not is_eager or runs_fit_eagerly or tf.get_current_name_scope():
        return
    if inputs.shape[0] > MAX_CALL_SENTENCES and not _has_warned_of_large_call:
        _has_warned_of_large_call = True
        warnings.warn(
            f"One call on {inputs.shape[0]:,} sentences holds all their outputs in memory, padded "
            "to the longest sentence. For the vectors of many sentences, call `embed`, which reads "
            "them in batches of like length",
            stacklevel=stacklevel + 1,
        )
