"""Imports point one way (see the table), and the library prints nothing."""

import ast
import importlib.util
import pathlib
import re
import sys

import pytest
from scripts import run_python

import keras_elmo

PACKAGE = pathlib.Path(keras_elmo.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# A room imports from itself and from rooms further down; rooms of one line not from each other.
# So the core imports none of the rooms beside it, and these import the core and no other room.
ORDER = [
    "backend",
    "_version annotations checks process splitting",
    "characters tags",
    "files",
    "config layers text",  # the core: layers take plain arguments, not a `config`
    "weights",
    "manylangs",
    "sources",
    "models",
    "export",
    "analysis corpora tasks tflite training",  # the rooms beside it
    "sklearn",  # of tasks
    "__main__",  # `keras_elmo_cli` stands beside the package
    "__init__",  # the public names
]
LEVELS = {room: level for level, rooms in enumerate(ORDER) for room in rooms.split()}


def room_of(file):
    return file.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_modules(tree, package):
    """Full names of all modules (and of what is imported from them) that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = "." * node.level + (node.module or "")
            module = importlib.util.resolve_name(name, package) if node.level else name
            yield from (f"{module}.{alias.name}" for alias in node.names)


def upward_imports(source, room, package="keras_elmo"):
    """The imports of a file of `room` that it must not have."""
    wrong = []
    for name in imported_modules(ast.parse(source), package):
        root, _, rest = name.partition(".")
        if root != "keras_elmo":
            continue
        target = rest.partition(".")[0]
        target = target if target in LEVELS else "__init__"
        if room != target and LEVELS[target] >= LEVELS[room]:
            wrong.append(name)
    return wrong


# Private names of other libraries, without which something cannot be done.
OWNERS = ("self", "cls", "super()")
FOREIGN_NAMES = {"_asdict", "_replace", "_exit", "_flatten_layers", "_keras_mask", "_repr_png_"}


def private_names_of_others(source):
    """The names with an underscore that a file takes from another file."""
    wrong = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and "keras_elmo" in (node.module or ""):
            wrong += [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) not in OWNERS:
            wrong.append(node.attr)
    return {n for n in wrong if n.startswith("_") and not n.startswith("__")} - FOREIGN_NAMES


SOURCES = {file: file.read_text(encoding="utf-8") for file in FILES}
TREES = {file: ast.parse(source) for file, source in SOURCES.items()}


def faults(check):
    """What a check finds in the files that it does not let pass: a dict."""
    found = {str(file.relative_to(PACKAGE)): check(file) for file in FILES}
    return {name: wrong for name, wrong in found.items() if wrong}


def test_the_checks_find_what_they_are_there_to_find():
    for room, source in [
        ("layers", "from keras_elmo.config import ElmoConfig"),
        ("weights", "import keras_elmo.models.elmo"),
        ("tflite", "def f():\n    from keras_elmo.tasks import crf"),
        ("models", "from keras_elmo import Elmo"),
        ("files", "from .config import ElmoConfig"),
    ]:
        assert len(upward_imports(source, room)) == 1, source
    source = "import keras\nfrom keras_elmo import characters, text\nfrom . import config"
    assert upward_imports(source, "models") == []
    assert private_names_of_others("self._a, super()._a, x.__class__") == set()
    assert private_names_of_others("from keras_elmo.text import _a\nelmo._b") == {"_a", "_b"}


def test_imports_point_one_way():
    assert {room_of(file) for file in FILES} <= LEVELS.keys(), "a room needs its place in the table"

    def check(file):
        package = ".".join(file.relative_to(PACKAGE.parent).parent.parts)
        return upward_imports(SOURCES[file], room_of(file), package)

    assert faults(check) == {}


def test_private_names_are_used_in_their_own_file_alone():
    assert faults(lambda file: private_names_of_others(SOURCES[file])) == {}


def top_of(tree):
    """The imports at the top of a file, as a tree."""
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    return ast.Module(top, [])


def test_only_loops_import_tensorflow_among_the_layers():
    """And they import it at the top of the file, where it can be seen."""
    found = {"anywhere": set(), "at the top": set()}
    for file, tree in TREES.items():
        for place, part in zip(found, (tree, top_of(tree)), strict=True):
            modules = imported_modules(part, "keras_elmo.layers")
            if room_of(file) == "layers" and "tensorflow" in modules:
                found[place].add(f"{file.parent.name}/{file.stem}")
    assert found["at the top"] == {"loops/packed", "loops/padded"}
    assert found["anywhere"] == found["at the top"]


def test_keras_is_imported_as_keras():
    wrong = ("tensorflow.keras", "tensorflow.python", "keras.src", "tf_keras")

    def check(file):
        modules = [m for m in imported_modules(TREES[file], "keras_elmo") if m.startswith(wrong)]
        return modules + re.findall(r"\b(?:tf|tensorflow)\.keras", SOURCES[file])

    assert faults(check) == {}


def test_library_has_no_print_assert_or_exit():
    def check(file):
        nodes = list(ast.walk(TREES[file]))
        names = {ast.unparse(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute)}
        names |= {"assert" for node in nodes if isinstance(node, ast.Assert)}
        forbidden = {"print", "SystemExit", "exit", "quit", "breakpoint", "assert", "sys.exit"}
        forbidden |= {"os._exit", "sys.stdout", "sys.stderr"}
        shown = {"process": {"sys.stderr"}, "__main__": forbidden}  # the former shows progress
        return names & forbidden - shown.get(room_of(file), set())

    assert faults(check) == {}


def test_the_command_line_imports_the_package_where_a_subcommand_runs():
    for file in (PACKAGE.parent / "keras_elmo_cli").glob("*.py"):
        top = top_of(ast.parse(file.read_text(encoding="utf-8")))
        roots = {name.partition(".")[0] for name in imported_modules(top, "keras_elmo_cli")}
        assert roots <= {*sys.stdlib_module_names, "keras_elmo_cli"}, file
    for file, source in SOURCES.items():
        assert room_of(file) == "__main__" or "keras_elmo_cli" not in source


def test_public_names_without_tensorflow_on_jax(tmp_path):
    """(What the layers compute there, without TensorFlow too, is in layers/test_jax.py.)"""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    code = """
import sys
sys.modules["tensorflow"] = sys.modules["tensorflow_text"] = None  # importing them now fails
from keras_elmo import *
from keras_elmo import BiLM, ElmoConfig, ScalarMix, read_embeddings
try:
    from keras_elmo import Tagger
except ImportError as error:
    print(error)
import keras_elmo
print(hasattr(keras_elmo, "Elmos"))
"""
    variables = {"KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"}
    result = run_python("-c", code, env=variables, cwd=tmp_path, timeout=120)
    assert result.stdout == (
        "`keras_elmo.Tagger` works on Keras's TensorFlow backend alone: set KERAS_BACKEND="
        "tensorflow. On others, use `Elmo` and the layers. Received: backend 'jax'\nFalse\n"
    ), result.stderr


def test_every_public_name_is_there():
    assert all(hasattr(keras_elmo, name) for name in keras_elmo.__all__)
