"""Checks of the arguments of models: what trains, and models that must be loaded."""

import os
import warnings

from keras_elmo.weights import addresses, presets

TRAINABLE_PARTS = ("none", "mix", "bilm", "all")


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
