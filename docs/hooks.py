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
    (commands,) = (x for x in parser._actions if isinstance(x, argparse._SubParsersAction))
    parts = [_section("keras-elmo", parser)]
    parts += [_section(f"keras-elmo {name}", command) for name, command in commands.choices.items()]
    return "\n\n".join(parts)


def _section(title, parser):
    return f"## {title}\n\n```text\n{parser.format_help()}```"
