"""The description for the package index; everything else is in pyproject.toml."""

import pathlib
import re

from setuptools import setup


def describe(readme):
    """README without what the index cannot show: the picture, the pages, links to files."""
    text = re.sub(r"(?s)<!-- --8<-- \[start:java.*?\n## Install", "## Install", readme)
    text = re.sub(r"(?s)## Go on\n.*?(?=Apache)|<!--.*?-->\n", "", text)
    return re.sub(r"\[([^]]*)\]\((?!https:)[^)]*\)", r"\1", text)


if __name__ == "__main__":
    text = pathlib.Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    setup(long_description=describe(text), long_description_content_type="text/markdown")
