"""Checks of arguments, shared by all parts of the package."""

import math
import numbers

ACTIVATIONS = ("relu", "tanh")


def is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_integers(least, **values):
    """Raises a `ValueError` for the first value that is no integer of at least `least`."""
    for name, value in values.items():
        if not (is_integer(value) and value >= least):
            raise ValueError(
                f"`{name}` must be an integer of at least {least}. Received: {name}={value!r}"
            )


def check_clips(**values):
    """Raises a `ValueError` for the first value that is neither a positive number nor `None`."""
    for name, value in values.items():
        if not is_clip(value):
            raise ValueError(
                f"`{name}` must be a positive number, or None for no clipping. "
                f"Received: {name}={value!r}"
            )


def is_clip(value):
    return value is None or (is_number(value) and 0 < value < math.inf)


def are_filters(value):
    """Whether a value is a non-empty sequence of pairs of positive integers."""
    return (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(
            isinstance(pair, list | tuple)
            and len(pair) == 2
            and all(is_integer(n) and n > 0 for n in pair)
            for pair in value
        )
    )
