import os
import re
import shutil

import nbclient
import nbformat
import pytest
from scripts import ROOT


def short_repr(notebook):
    """What the cells show: a list of MIME types and texts."""
    shown = []
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        data = output.get("data", {})
        shown.append((sorted(data), output.get("text") or data.get("text/plain")))
    return shown


def take_log(notebook):
    """Takes the outputs to standard error away. Returns their lines that are not TensorFlow's."""
    lines = []
    for cell in notebook.cells:
        outputs = cell.get("outputs", [])
        for output in [output for output in outputs if output.get("name") == "stderr"]:
            outputs.remove(output)
            lines += output.text.splitlines()
    return [line for line in lines if not re.match(r"WARNING: All log messages|[IWE]0000 ", line)]


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_it_shows(tmp_path):
    shutil.copytree(ROOT / "examples/data", tmp_path / "data")
    notebook = nbformat.read(ROOT / "examples/tour.ipynb", 4)
    stored = short_repr(notebook)
    resources = {"metadata": {"path": str(tmp_path)}}
    # As a user's kernel: with the first variable TensorFlow is always quiet, and with the second
    # the kernel does not capture what C++ writes.
    dropped = ("TF_CPP_MIN_LOG_LEVEL", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in dropped}
    nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute(env=environment)
    log, found = take_log(notebook), short_repr(notebook)
    assert [kinds for kinds, _ in found] == [kinds for kinds, _ in stored]
    # The same numbers but for the training's.
    assert not log
    for (_, text), (_, text_before) in zip(found, stored, strict=True):
        if not text.startswith(("array", "accuracy")):
            assert text == text_before


def test_the_stored_outputs_are_small_and_without_a_log():
    path = ROOT / "examples/tour.ipynb"
    assert path.stat().st_size < 200_000
    notebook = nbformat.read(path, 4)
    kinds = [kind for kinds, _ in short_repr(notebook) for kind in kinds]
    assert kinds.count("image/png") == 2
    assert all(cell.execution_count for cell in notebook.cells if cell.cell_type == "code")
    text = path.read_text(encoding="utf-8")
    assert "stderr" not in text and "cudart" not in text and str(ROOT) not in text
