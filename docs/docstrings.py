"""What the Python reference needs of docstrings: their examples as blocks of code."""

import re

import griffe

# Prompts and the output below them, up to an empty line.
_EXAMPLE = re.compile(r"^>>> .*\n?(?:^(?=\S).*\n?)*", re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Puts fences around the examples of docstrings, which are Markdown's quotations without."""

    def on_object(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(
                lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", obj.docstring.value
            )
