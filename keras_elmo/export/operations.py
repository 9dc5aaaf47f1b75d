"""What operations a SavedModel is made of, and whether other programs have them."""

import os


def operations(path):
    """The names of all operations of a SavedModel, those of its functions too.

    Args:
        path: its folder.

    Returns:
        A set of strings.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    saved = SavedModel()
    with open(os.path.join(path, "saved_model.pb"), "rb") as file:
        saved.ParseFromString(file.read())
    graph = saved.meta_graphs[0].graph_def
    nodes = [*graph.node, *(node for f in graph.library.function for node in f.node_def)]
    return {node.op for node in nodes} - {f.signature.name for f in graph.library.function}


def check_operations(names, ops):
    """Raises a `ValueError` where operations need Python, or more than `ops` promises."""
    python = sorted(name for name in names if "PyFunc" in name)
    if python:
        raise ValueError(
            "The exported graph must hold no Python; a tokenizer or layer must be made of "
            f"TensorFlow's operations. Received: {python}"
        )
    added = sorted(filter(_is_tensorflow_texts, names))
    if ops == "core" and added:
        raise ValueError(
            'With `ops="core"` the tokenizer must be made of TensorFlow\'s own operations. '
            f"Received: {added}"
        )


def needs_tensorflow_text(names):
    """Whether a program in Python must `import tensorflow_text` before it loads the operations."""
    return any(map(_is_tensorflow_texts, names))


def _is_tensorflow_texts(name):
    return name.startswith(("TFText", "RegexSplit"))
