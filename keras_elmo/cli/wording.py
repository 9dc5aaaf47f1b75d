"""What the subcommands say: numbers of things, and options as users type them."""

import inspect
import re

# An argument in backquotes that are not part of a path, and one with its value after "Received: ".
_QUOTED = re.compile(r"(?<![^\s(])`(?P<name>\w+)(?:=(?P<value>[^`\s]+))?`(?![\w/])")
_RECEIVED = re.compile(r"(?<=Received: )(?P<name>\w+)=(?P<value>[^\s;,]+)")


def counted(number, noun):
    """A number and what it counts: `counted(1, "sentence")` is "1 sentence"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def defaults_of(function):
    """The defaults of the arguments of a function or a class: a dict."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def as_typed(message, options):
    """An error of the library, with the options of the command line for Python's arguments.

    Only `` `name` `` and `` `name=value` `` are translated, and name=value directly after
    "Received: ", if the message has the same name in backquotes. All other words may be a user's
    paths, such as runs/seed=1, and stay as they are.

    Args:
        message: str.
        options: dict: by the name of an argument, how it is typed.
    """
    names = {match["name"] for match in _QUOTED.finditer(message)} & options.keys()

    def typed(match):
        name, value = match["name"], match["value"]
        if name not in names:
            return match[0]
        return options[name] + (f" {value}" if value and value != "True" else "")

    return _QUOTED.sub(typed, _RECEIVED.sub(typed, message))
