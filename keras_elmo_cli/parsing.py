"""Adds subcommands to the parser, and words errors with the options that users type."""

import argparse
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Subcommand(NamedTuple):
    """What the parser knows of a subcommand.

    Attributes:
        name: str, as it is typed.
        help: str. One line of the list of all subcommands.
        description: str. What its own help begins with.
        examples: sequence of strings. Two command lines, which its own help ends with.
        add_arguments: function of its parser.
        run: function of the parsed options; `None` where it has subcommands of its own.
    """

    name: str
    help: str
    description: str
    examples: Sequence[str]
    add_arguments: Callable
    run: Callable | None


class ExampleParser(argparse.ArgumentParser):
    """A parser whose help ends with examples."""

    examples = ()

    def set_run(self, run):
        """Sets what the parsed options say to run, and how their names are typed, for errors."""
        typed = {x.dest: x.option_strings[-1] for x in self._actions if x.option_strings}
        self.set_defaults(run=run, typed=typed, prog=self.prog)

    def format_help(self):
        lines = "".join(f"  {example}\n" for example in self.examples)
        return f"{super().format_help()}\nexamples:\n{lines}"


def add_commands(parser, metavar, subcommands):
    """Makes a command take subcommands; without one, it shows its help, which lists them.

    Args:
        parser: the parser of a command.
        metavar: str. What the help calls the subcommands.
        subcommands: list of `Subcommand`.
    """
    parser.set_defaults(run=lambda _: parser.exit(2, parser.format_help()))
    commands = parser.add_subparsers(metavar=metavar, parser_class=ExampleParser)
    for subcommand in subcommands:
        command = commands.add_parser(
            subcommand.name, help=subcommand.help, description=subcommand.description
        )
        command.examples = subcommand.examples
        subcommand.add_arguments(command)
        if subcommand.run is not None:
            command.set_run(subcommand.run)


# An argument in backquotes that are not part of a path, and one with its value after "Received: ".
_QUOTED = re.compile(r"(?<![^\s(])`(?P<name>\w+)(?:=(?P<value>[^`\s]+))?`(?![\w/])")
_RECEIVED = re.compile(r"(?<=Received: )(?P<name>\w+)=(?P<value>[^\s;,]+)")


def pluralize(number, noun):
    """A number and what it counts: `pluralize(1, "sentence")` is "1 sentence"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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
