"""Names in backquotes on the pages for contributors exist."""

import ast
import builtins
import functools
import re

import keras
import pytest
import tensorflow as tf
from code_blocks import ROOT

import keras_elmo

PAGES = ("CONTRIBUTING.md", "docs/design.md")
PACKAGES = "keras_elmo keras_elmo_cli keras_elmo/layers keras_elmo/weights"
FOLDERS = ("", *PACKAGES.split(), "tests", "tests/examples", "docs")
# What is quoted as text, and names of what is not in the repository.
QUOTED = {"import keras_elmo", "(b + 1) - 1", "b", "_", "don 't", "do n't", "<S>", "</S>"}
QUOTED |= {"../shared", "softmax.hdf5"}
QUOTED |= {"HIT-SCIR/ELMoForManyLangs", "allenai/allennlp", "allenai/bilm-tf", ".keras", ".venv"}


@functools.cache
def defined_names():
    """All names that the package and the tests define, also as words in quotes."""
    names = set(dir(builtins)) | set(keras_elmo.__all__)
    for folder in ("keras_elmo", "tests"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.arg | ast.keyword):
                    names.add(node.arg)
                elif isinstance(node, ast.Name | ast.Attribute):
                    names.add(node.id if isinstance(node, ast.Name) else node.attr)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    names.add(node.value)
    return names


def exists(text, names):
    """Whether a text in backquotes is a name of something that is there."""
    if text in QUOTED or text.startswith(("fixtures/", "pip ", "kill ", "python3", "pytest ")):
        return True
    command = re.match(r"make ([\w-]+)", text)
    if command:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        return re.search(rf"^{command[1]}:", makefile, re.MULTILINE) is not None
    words = re.findall(r"[\w./-]*\w/?", text.split(" -k ")[0].split(" --case ")[0])
    if text.startswith((".venv/", "python tests")):
        words = [word for word in words if word.startswith("tests/")]
    if re.match(r"[\w/.-]+(/|\.(py|md))$", text) or text.startswith("tests/"):
        return any((ROOT / folder / text).exists() for folder in FOLDERS) or any(
            ROOT.glob(f"tests/**/{text}")
        )
    for word in words:
        module = word.replace(".", "/") + ".py"
        if any((ROOT / folder / name).exists() for folder in FOLDERS for name in (word, module)):
            continue
        first, *rest = word.strip(".").split(".")
        value = {"tf": tf, "keras": keras, "Sequential": keras.Sequential}.get(first)
        for part in rest:
            value = getattr(value, part, None)
        if value is None and not {first, *rest} <= names | {"keras-elmo", "data", "bench"}:
            return False
    return True


def unknown_names(page_text, names):
    prose = re.sub(r"^```.*?^```", "", page_text, flags=re.MULTILINE | re.DOTALL)
    quoted = sorted(set(re.findall(r"`([^`\n]+)`", prose)))
    return [text for text in quoted if not exists(text, names)]


@pytest.mark.parametrize(
    "text",
    ["models/elmos.py", "BiLM.use_loops", "make tests-all", "tf.no_such_name", "no_such_name"],
)
def test_the_check_finds_names_that_do_not_exist(text):
    names = defined_names() - {text, text.split(".")[-1]}
    assert unknown_names(f"See `{text}` and `BiLM.using_loop`.", names) == [text]


@pytest.mark.parametrize("page", PAGES)
def test_names_in_backquotes_exist(page):
    assert unknown_names((ROOT / page).read_text(encoding="utf-8"), defined_names()) == []
