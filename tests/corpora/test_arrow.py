import importlib.util
import sys

import pytest

from keras_elmo.corpora import arrow


@pytest.fixture
def import_again(monkeypatch):
    """Imports arrow.py as in a process where pyarrow was not imported yet."""

    def run(pyarrow=None):
        for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
            monkeypatch.delitem(sys.modules, name)
        if pyarrow is None:
            monkeypatch.setitem(sys.modules, "pyarrow", None)  # an import raises an error
        else:
            monkeypatch.syspath_prepend(pyarrow)
        spec = importlib.util.spec_from_file_location("arrow_again", arrow.__file__)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return run


def test_a_missing_pyarrow(import_again):
    with pytest.raises(ImportError, match=r'not installed: pip install "keras-elmo\[corpora\]"'):
        import_again().check_pyarrow()


@pytest.mark.parametrize(
    "content, message",
    [
        ("raise ImportError('libarrow.so: cannot open')", "libarrow.so: cannot open"),
        ("import a_part_that_is_missing", "No module named 'a_part_that_is_missing'"),
        ("", "No module named 'pyarrow.parquet'"),
    ],
)
def test_a_broken_pyarrow(import_again, tmp_path, content, message):
    (tmp_path / "pyarrow").mkdir()
    (tmp_path / "pyarrow/__init__.py").write_text(content)
    module = import_again(tmp_path)
    with pytest.raises(ImportError, match=f"install it again. Received: {message}"):
        module.check_pyarrow()


def test_pyarrow_is_there():
    arrow.check_pyarrow()
    assert arrow.pyarrow is not None
