"""Names in backquotes on the pages for contributors exist."""

import builtins
import functools
import re
import tokenize

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
        for path in (ROOT / folder).rglob("*.py"):
            with tokenize.open(path) as file:
                for kind, text, *_ in tokenize.generate_tokens(file.readline):
                    if kind in (tokenize.NAME, tokenize.STRING):
                        names.add(text.strip("\"'"))
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


@pytest.mark.parametrize("page", PAGES)
def test_names_in_backquotes_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    quoted = set(re.findall(r"`([^`\n]+)`", prose))
    names = defined_names()
    assert {text for text in quoted if not exists(text, names)} == set()
    assert not exists("BiLM.no_" + "such_loop", names)  # the check finds what is not there
