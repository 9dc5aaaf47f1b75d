"""What MkDocs adds to the pages: the help texts of the command line."""

import argparse
import os

COMMANDS = "<!-- commands -->"


def on_page_markdown(markdown, page, **_):
    """Puts the help of each subcommand in the place of the mark."""
    return markdown.replace(COMMANDS, command_line()) if COMMANDS in markdown else markdown


def command_line():
    """The help texts as Markdown, 80 columns wide."""
    os.environ["COLUMNS"] = "80"
    from keras_elmo.cli.main import make_parser

    parser = make_parser()
    return "\n\n".join(_sections(parser))


def _sections(parser):
    """The help of a parser and of all its subcommands."""
    yield f"## {parser.prog}\n\n```text\n{parser.format_help()}```"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _sections(command)
