"""Every error of the package says what must hold, and what was received."""

import ast
import pathlib

import pytest

import keras_elmo

PACKAGE = pathlib.Path(keras_elmo.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

# Functions that gather faults and raise them together; each fault says what was received.
GATHERED = {
    "config.py": {"__post_init__", "from_options"},
    "corpora/shards.py": {"check_size", "check_digest"},  # `_reading` says what must hold
    "manylangs/model.py": {"read_config"},
    "manylangs/torch_file.py": {"numbers", "open_state_dict"},
    "tflite/graph.py": {"check"},
    "tflite/metadata.py": {"metadata"},
    "training/options.py": {"__post_init__"},
    "training/vocabulary.py": {"__init__"},
    "weights/assign.py": {"assign_weights"},
    "weights/tf_checkpoint.py": {"__getitem__"},
}


def texts_of(node, constants):
    """The text that is written in an expression; names stand for the module's constants."""
    found = []
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            found.append(part.value)
        if isinstance(part, ast.Name):
            found.append(constants.get(part.id, ""))
    return " ".join(found)


def assigned(nodes, constants):
    """The texts that are assigned to names."""
    names = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            names[node.targets[0].id] = texts_of(node.value, constants)
    return names


def raised(tree):
    """Each `raise ValueError(...)` and `raise TypeError(...)`: its function, line and text."""
    constants = assigned(tree.body, {})

    def visit(node, function):
        if isinstance(node, ast.FunctionDef):
            function = node.name
            constants.update(assigned(ast.walk(node), constants))
        is_call = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        if is_call and ast.unparse(node.exc.func) in ("ValueError", "TypeError"):
            yield function, node.lineno, texts_of(node.exc, constants)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(tree, None)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_errors_say_what_must_hold_and_what_was_received(file):
    gathered = GATHERED.get(file.relative_to(PACKAGE).as_posix(), ())
    for function, line, text in raised(ast.parse(file.read_text(encoding="utf-8"))):
        assert function in gathered or ("must" in text and "Received: " in text), (line, text)
