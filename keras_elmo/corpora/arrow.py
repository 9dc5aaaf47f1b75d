"""pyarrow, which is optional."""

try:
    import pyarrow
    import pyarrow.parquet

    _error = None
except ImportError as error:
    pyarrow, _error = None, error


def check_pyarrow():
    """Raises an `ImportError` that says what to do, where pyarrow is missing or broken."""
    if pyarrow is not None:
        return
    if _error is not None and _error.name != "pyarrow":
        raise ImportError(
            "Parquet files are read and written by pyarrow, which is installed and cannot be "
            f"imported; install it again. Received: {_error}"
        ) from _error
    raise ImportError(
        "Parquet files are read and written by pyarrow, which is not installed: "
        'pip install "keras-elmo[corpora]"'
    )
