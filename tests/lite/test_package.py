"""The distribution keras-elmo-lite."""

import ast
import pathlib
import subprocess
import sys
import venv

import numpy as np
import pytest

pytest.importorskip("keras_elmo_lite", reason="pip install ./lite")
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "lite"


def test_it_imports_the_standard_library_numpy_and_litert_alone():
    allowed = set(sys.stdlib_module_names) | {"numpy", "ai_edge_litert", "keras_elmo_lite"}
    files = list((FOLDER / "keras_elmo_lite").glob("*.py"))
    assert len(files) > 3
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= allowed, file


@pytest.mark.slow
def test_it_runs_in_an_environment_of_its_own(files, models, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    install = [python, "-m", "pip", "install", "--quiet", FOLDER]
    subprocess.run(install, check=True, capture_output=True, timeout=600)
    (tmp_path / "text.txt").write_text("The cat sat .\n")
    command = [python, "-m", "keras_elmo_lite", "embed", "text.txt", "-o", "vectors.npz"]
    command += ["--model", files["whitespace"]]
    environment = {"PATH": "/usr/bin:/bin"}  # without PYTHONPATH
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    expected = models["whitespace"].embed(["The cat sat ."], layers="all")[0]
    np.testing.assert_allclose(np.load(tmp_path / "vectors.npz")["0"], expected, atol=1e-5)
    for name in ("keras_elmo_lite/py.typed", "keras_elmo_lite-*.dist-info/licenses/LICENSE"):
        assert list((tmp_path / "venv").rglob(name))
    code = "import importlib.util as u; print(*map(u.find_spec, ['tensorflow', 'keras']))"
    result = subprocess.run([python, "-c", code], capture_output=True, text=True, env=environment)
    assert result.stdout == "None None\n"
