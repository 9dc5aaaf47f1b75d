"""pyarrow, which is optional."""

try:
    import pyarrow
    import pyarrow.parquet
except ImportError:
    pyarrow = None


def check_pyarrow():
    """Raises an `ImportError` that says how to install pyarrow, where it is missing."""
    if pyarrow is None:
        raise ImportError(
            "Parquet files are read and written by pyarrow, which is not installed: "
            "pip install 'keras-elmo[features]'"
        )
