"""What MkDocs adds to the pages: the help texts of the command line, and the page of ELMo."""

import argparse
import logging
import os
import pathlib
import re
import shutil

COMMANDS = "<!-- commands -->"
BROWSER = "<!-- examples/browser -->"
BROWSER_URL = "browser/"

# What `make docs` builds where there is npm. Without it, the site has no live page.
_BUILT = pathlib.Path(__file__).resolve().parent.parent / ".venv/browser"
_LEFT_OUT = "The live page is not in this site, because npm was missing when the site was built."


def on_page_markdown(markdown, page, **_):
    """Puts the help of each subcommand, and the live page, in the places of their marks."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, command_line())
    if not _is_built():
        markdown = re.sub(f"(?s)## Try it here.*?{BROWSER}", "", markdown)
    return markdown.replace(BROWSER, live_page(page.url))


def on_post_build(config, **_):
    """Copies the live page into the site."""
    if _is_built():
        shutil.copytree(_BUILT, pathlib.Path(config["site_dir"], BROWSER_URL), dirs_exist_ok=True)
    else:
        logging.getLogger("mkdocs.hooks").info(_LEFT_OUT)


def _is_built():
    return (_BUILT / "elmo.tflite").is_file()  # the last of its files


def live_page(page_url):
    """A frame with the live page, and a link to it; or a sentence that says why there is none."""
    if not _is_built():
        return f"*{_LEFT_OUT}*"
    from mkdocs.utils import get_relative_url  # the tests of the help texts have no MkDocs

    url = get_relative_url(BROWSER_URL, page_url)
    return (
        f'<iframe src="{url}" title="ELMo in the browser" loading="lazy" '
        'style="width: 100%; height: 30rem; border: 1px solid #80808080; border-radius: 4px">'
        f'</iframe>\n\n<a href="{url}">Open it on a page of its own</a>'
    )


def command_line():
    """The help texts as Markdown, 80 columns wide."""
    os.environ["COLUMNS"] = "80"
    from keras_elmo_cli.main import make_parser

    parser = make_parser()
    return "\n\n".join(_sections(parser))


def _sections(parser):
    """The help of a parser and of all its subcommands."""
    yield f"## {parser.prog}\n\n```text\n{parser.format_help()}```"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _sections(command)
