"""What the Python reference needs of docstrings: their examples as blocks of code, and more."""

import re
import textwrap

import griffe

# Prompts and the output below them, up to an empty line.
_EXAMPLE = re.compile(r"^>>> .*\n?(?:^(?=\S).*\n?)*", re.MULTILINE)


_RETURNS = re.compile(r"^Returns:\n((?:    .*\n?|\n)+)", re.MULTILINE)


class ReadableDocstrings(griffe.Extension):
    """Puts fences around the examples of docstrings, which are Markdown's quotations without.

    What is returned becomes a paragraph, since it has no name; and `Any`, which says nothing, goes.
    """

    def on_object(self, *, obj, **_):
        for parameter in obj.parameters if obj.is_function else ():
            if str(parameter.annotation) == "Any":
                parameter.annotation = None
        if obj.docstring:
            text = _EXAMPLE.sub(
                lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", obj.docstring.value
            )
            obj.docstring.value = _RETURNS.sub(
                lambda match: f"**Returns:**\n\n{textwrap.dedent(match[1])}", text
            )
