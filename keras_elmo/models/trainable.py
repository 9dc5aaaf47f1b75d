"""What trains: Keras's boolean, and the part of the model that it releases."""

TRAINABLE_PARTS = ("mix", "bilm", "all")


def check_trainable(value):
    """A `trainable` argument as a bool."""
    if isinstance(value, str) or value not in (True, False):
        part = value if value in TRAINABLE_PARTS else "mix"
        raise ValueError(
            "`trainable` must be True or False; what trains is an argument of its own: pass "
            f'trainable_part="{part}", one of {list(TRAINABLE_PARTS)}. '
            f"Received: trainable={value!r}"
        )
    return bool(value)


def check_part(part):
    """A `trainable_part` argument."""
    if part not in TRAINABLE_PARTS:
        raise ValueError(
            f"`trainable_part` must be one of {list(TRAINABLE_PARTS)}. "
            f"Received: trainable_part={part!r}"
        )
    return part


def translate_config(config):
    """A config whose `trainable` may name a part, as version 0.1.0 wrote it."""
    if isinstance(config.get("trainable"), str):
        config = {**config, "trainable": True, "trainable_part": config["trainable"]}
    return config
