"""Checks of arguments, shared by all parts of the package."""

import importlib
import inspect
import math
import numbers
import os
import warnings

import keras
import numpy as np

ACTIVATIONS = ("relu", "tanh")
# Errors name so many unknown keys or faults, and so many characters of a value or of a key: a
# message is not as long as the file.
_MAX_NAMES = 8
_MAX_SHOWN = 60
_MAX_LINE = 300  # of a fault, with the names and values in it
_INNER = tuple(  # the folders of this package, and of Keras, which calls it
    os.path.join(os.path.dirname(file), "") for file in (__file__, keras.__file__)
)


def warn(message):
    """Warns of what a user passed. The warning points at a line outside of this package."""
    level, frame = 2, inspect.currentframe().f_back
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INNER):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def short_repr(value):
    """`repr(value)` for an error message, cut where it is long."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, very deep lists
        return f"{type(value).__name__}, too large to show"
    if len(text) <= _MAX_SHOWN:
        return text
    return f"{text[:_MAX_SHOWN]}... ({len(text):,} characters)"


def printable(text):
    """A text on one line, without control characters and invalid UTF-8."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(character if character.isprintable() else " " for character in text)


def _escaped(text, limit):
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text[: limit + 1])
    return text if len(text) <= limit else f"{text[:limit]}..."


def first_lines(faults):
    """The first of some faults for an error message, a line each, and how many more there are."""
    lines = [_escaped(fault, _MAX_LINE) for fault in faults[:_MAX_NAMES]]
    more = len(faults) - len(lines)
    return "\n  ".join(lines) + (f"\n  and {more:,} more" if more else "")


def join_names(names):
    """The first of some names in their order for an error message, and how many more there are."""
    listed = [_escaped(name, _MAX_SHOWN) for name in sorted(names)[:_MAX_NAMES]]
    more = len(names) - len(listed)
    return ", ".join(listed) + (f" and {more:,} more" if more else "")


def is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def to_python_numbers(value):
    """A value, or the items of a list, with numbers that JSON takes: none of NumPy's."""
    if isinstance(value, list | tuple):
        return tuple(to_python_numbers(item) for item in value)
    value = value.item() if isinstance(value, np.generic) else value
    return float(value) if is_number(value) and not is_integer(value) else value


def _check(is_right, rule, values):
    for name, value in values.items():
        if not is_right(value):
            raise ValueError(f"`{name}` must be {rule}. Received: {name}={short_repr(value)}")


# Each of these raises a `ValueError` for the first value that is not right.


def check_integers(least, **values):
    rule = f"an integer of at least {least}"
    _check(lambda value: is_integer(value) and value >= least, rule, values)


def check_counts(**values):
    """Each must be an integer of at least 1, or `None`."""
    check_integers(1, **{name: value for name, value in values.items() if value is not None})


def check_choice(choices, **values):
    _check(lambda value: value in choices, f"one of {list(choices)}", values)


def check_dropout(dropout):
    _check(lambda x: is_number(x) and 0 <= x < 1, "from 0 to below 1", {"dropout": dropout})


def check_positive(**values):
    _check(lambda value: value is not None and is_clip(value), "a positive number", values)


def check_clips(**values):
    _check(is_clip, "a positive number, or None for no clipping", values)


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


def check_library(module, name, extra):
    """Raises an `ImportError` that says what to install, if a library is not there."""
    try:
        importlib.import_module(module)
    except ImportError:
        raise ImportError(f'{name} is needed: pip install "keras-elmo[{extra}]"') from None


def stands_for_a_shape(tensor):
    """Whether a tensor of floats has no values, and stands for a shape alone.

    Keras makes the weights of a loaded subclassed model by a call on shapes, whose dtypes it has
    not stored: it takes float32. (It does so, too, while it computes the shapes of another layer's
    call, whose inputs may be floats by mistake. A call on values then raises the error.)
    """
    if not keras.backend.is_float_dtype(tensor.dtype):
        return False
    with keras.SymbolicScope() as scope:
        return scope.original_scope is not None  # Keras is in a call on shapes
