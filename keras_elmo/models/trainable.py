"""What trains: Keras's boolean, and the part of the model that it releases."""

TRAINABLE_PARTS = ("mix", "bilm", "all")


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
    all. A config of today is returned as it is: that of an `Elmo` has its `trainable_part`, and an
    `ElmoEmbedding` leaves it to its `elmo`.
    """
    trainable = config.get("trainable")
    if isinstance(trainable, str):
        return {**config, "trainable": True, "trainable_part": trainable}
    is_elmo = "elmo" not in config
    if is_elmo and trainable is True and "trainable_part" not in config:
        return {**config, "trainable_part": "all"}
    return config
