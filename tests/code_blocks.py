"""Runs the code blocks of a page of Markdown, and compares the outputs that the page shows.

A page is run from top to bottom, in one folder and one namespace. Of its fenced blocks

- `python` runs. Where a line ends in `# -> VALUE`, the value of its expression must print as
  `VALUE`.
- `sh` runs line by line, with the page's folder as the working directory. A `keras-elmo` command
  runs in this process, since a new one takes seconds. Other commands, and pipes, are bash's.
- `text` that follows a block which runs, with blank lines alone between them, is the output of that
  block: what it prints. `...` stands for any text, and white space is compared as one space.
- A block whose title begins with "Before" is old code: a migration page shows it beside the new.
  It is not run, and has to be valid Python if that is its language.
- A block after a line `<!-- not run: REASON -->` is not run.
- Other languages (`FILES`) are the contents of files. A language that is not known is an error, so
  that no code is left out by mistake.

A block may be indented, as in MkDocs's content tabs and notes.
"""

import ast
import contextlib
import dataclasses
import doctest
import io
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

from scripts import ROOT

from keras_elmo_cli.main import main

CODE = ("python", "sh")
FILES = ("text", "json", "yaml", "toml", "mermaid", "bibtex")

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<attributes>[^\n]*)\n(?P<code>.*?)^(?P=indent)```\s*?$",
    re.MULTILINE | re.DOTALL,
)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->\s*$")
_SHOWN_VALUE = "# -> "
_COMPARISON = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_SHELL_SIGNS = set("|&;<>$*`")  # what only a shell can run


@dataclasses.dataclass
class Block:
    """A fenced block of a page."""

    page: pathlib.Path
    line: int  # The code begins there; the first one is 1.
    language: str
    title: str  # `""` where there is none
    code: str  # without the indent of the block
    reason: str | None = None  # why it is not run
    output: str | None = None  # that the page shows

    @property
    def place(self):
        return f"{self.page}, line {self.line}"

    @property
    def runs(self):
        return self.language in CODE and self.reason is None


def read_blocks(page):
    """The `Block`s of a page, in their order. Shown outputs belong to the blocks before them."""
    page = pathlib.Path(page)
    text = page.read_text("utf-8")
    blocks, end = [], 0
    for match in _FENCE.finditer(text):
        before, end = text[end : match.start()], match.end()
        title = re.search(r'title="([^"]*)"', match["attributes"])
        block = Block(
            page=page,
            line=text.count("\n", 0, match.start("code")) + 1,
            language=match["language"],
            title=title[1] if title else "",
            code=textwrap.dedent(match["code"]),
        )
        if block.language == "text" and not before.strip() and blocks and blocks[-1].runs:
            blocks[-1].output = block.code
            continue
        if block.language not in CODE + FILES and not _NOT_RUN.search(before):
            raise ValueError(
                f"{block.place}: the language must be one of {', '.join(CODE + FILES)}, or the "
                f"block must be marked as not run. Received: {block.language!r}"
            )
        if mark := _NOT_RUN.search(before):
            block.reason = mark["reason"]
        elif block.title.startswith("Before"):
            block.reason = "old code"
            if block.language == "python":
                _parse(block)
        blocks.append(block)
    num_fences = len(re.findall(r"^ *```", text, re.MULTILINE))
    if num_fences != 2 * len(_FENCE.findall(text)):
        raise ValueError(f"{page}: a block is not closed. Received: {num_fences} fences")
    return blocks


def run_page(page, folder):
    """Runs the blocks of a page, and checks the outputs that it shows.

    The working directory is `folder`, with the files that the page takes for granted. Returns the
    namespace after the last block.
    """
    scope = {"__name__": "__page__"}
    blocks = [block for block in read_blocks(page) if block.runs]
    assert blocks, f"{page} has no code that runs"
    with _working_directory(folder):
        for block in blocks:
            run = _run_python if block.language == "python" else _run_shell
            printed = run(block, scope)
            if block.output is not None:
                _compare(block.output, printed, f"{block.place}: the output")
    return scope


def _parse(block):
    return ast.parse("\n" * (block.line - 1) + block.code, str(block.page))  # with the page's lines


def _run_python(block, scope):
    """Runs a block statement by statement. Returns what it printed to standard output."""
    lines = block.code.splitlines()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for statement in _parse(block).body:
            _, sign, shown = lines[statement.end_lineno - block.line].partition(_SHOWN_VALUE)
            if sign and isinstance(statement, ast.Expr):
                expression = ast.Expression(statement.value)
                value = eval(compile(expression, str(block.page), "eval"), scope)
                _compare(shown, str(value), f"{block.page}, line {statement.end_lineno}: the value")
            else:
                assert not sign, f"{block.place}: only an expression can show its value"
                exec(compile(ast.Module([statement], []), str(block.page), "exec"), scope)
    return printed.getvalue()


def _run_shell(block, _):
    """Runs a block command by command. Returns what it wrote to both of its outputs."""
    printed = []
    for command in block.code.replace("\\\n", " ").splitlines():
        command = command.partition(" #")[0].strip()  # without a comment
        if not command or command.startswith("#"):
            continue
        unquoted = re.sub("'[^']*'", "", command)
        in_process = command.startswith("keras-elmo ") and not _SHELL_SIGNS & set(unquoted)
        status, output = (_run_in_process if in_process else _run_in_bash)(command)
        assert status == 0, f"{block.place}: {command!r} ended with status {status}:\n{output}"
        printed.append(output)
    return "".join(printed)


def _run_in_process(command):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            status = main(shlex.split(command)[1:])
        except SystemExit as error:  # argparse's
            status = error.code or 0
    return status, printed.getvalue()


def _run_in_bash(command):
    python = shlex.quote(sys.executable)
    functions = f'python() {{ {python} "$@"; }}; keras-elmo() {{ {python} -m keras_elmo "$@"; }}\n'
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-ec", functions + command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return result.returncode, result.stdout


def _compare(shown, given, what):
    checker = doctest.OutputChecker()
    if not checker.check_output(shown.rstrip() + "\n", given.rstrip() + "\n", _COMPARISON):
        raise AssertionError(f"{what} is not what the page shows\nShown:\n{shown}\nGiven:\n{given}")


@contextlib.contextmanager
def _working_directory(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
