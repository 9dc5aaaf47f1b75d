"""What the subcommands say: numbers of things, and options as users type them."""

import inspect
import re


def counted(number, noun):
    """A number and what it counts: `counted(1, "sentence")` is "1 sentence"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def defaults_of(function):
    """The defaults of the arguments of a function or a class: a dict."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def as_typed(message, options):
    """An error of the library, with the options of the command line for Python's arguments.

    Args:
        message: str, with arguments as `name`, `name=value` or name=value.
        options: dict: by the name of an argument, how it is typed.
    """

    def typed(match):
        name, value = match["quoted"] or match["name"], match["value"]
        if name not in options:
            return match[0]
        return options[name] + (f" {value}" if value and value != "True" else "")

    quoted = r"`(?P<quoted>\w+)(=True)?`"
    return re.sub(rf"{quoted}|\b(?P<name>\w+)=(?P<value>[^\s;,]+)", typed, message)
