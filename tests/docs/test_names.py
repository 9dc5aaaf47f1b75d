"""Names in backquotes on the pages for contributors exist."""

import builtins
import functools
import re
import tokenize

import pytest
from code_blocks import ROOT

import keras_elmo

FOLDERS = ("", "keras_elmo", "keras_elmo_cli", "keras_elmo/layers", "keras_elmo/weights", "docs")
# What is quoted as text, and names of what is not in the repository.
QUOTED = {"(b + 1) - 1", "don 't", "</S>", "<S>", "../shared", "keras-elmo-lite", "mlserver"}
QUOTED |= {"HIT-SCIR/ELMoForManyLangs", "allenai/allennlp", "allenai/bilm-tf", "softmax.hdf5"}
QUOTED |= {"bench", "tf.distribute", "tf.data.Dataset.from_generator"}
COMMANDS = (".venv/bin/pytest ", "fixtures/", "keras-elmo", "pytest ", "python fuzz ")


@functools.cache
def defined_names():
    """All names in the code of the package and of the tests, also as words in quotes."""
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
    if text in QUOTED:
        return True
    if text.startswith(COMMANDS):
        files = [word for word in text.split() if word.startswith("tests/")]
        return all((ROOT / file).exists() for file in files)
    if target := re.match(r"make ([\w-]+)", text):
        return f"\n{target[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    if "/" in text or re.search(r"\.(py|md|cff)$", text):
        return any((ROOT / folder / text).exists() for folder in FOLDERS)
    return set(re.findall(r"\w+", text)) <= names


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/design.md"])
def test_names_in_backquotes_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    quoted = set(re.findall(r"`([^`\n]+)`", prose))
    assert {text for text in quoted if not exists(text, defined_names())} == set()
