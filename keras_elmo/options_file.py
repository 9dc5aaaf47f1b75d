"""Reads options.json files, and refuses files that cannot be one."""

import json
import os

# The published options have less than 1 kB. A larger file is refused before it is parsed.
MAX_OPTIONS_BYTES = 1 << 20


def read_options_file(path, where=None):
    """Reads the JSON object in an options.json of at most 1 MiB.

    Args:
        path: path of the file.
        where: what error messages call the file. `None`: the path.

    Returns:
        A dict.

    Raises:
        ValueError: the file is too large, or holds no JSON object.
        OSError: the file cannot be opened.
    """
    where = str(path) if where is None else where
    with open(path, "rb") as file:
        data = file.read(MAX_OPTIONS_BYTES + 1)
        check_options_size(max(len(data), os.fstat(file.fileno()).st_size), where)
    return parse_options(data, where)  # JSON detects the encoding, and a byte-order mark


def check_options_size(size, where):
    """Raises a `ValueError` for options of more than 1 MiB."""
    if size > MAX_OPTIONS_BYTES:
        raise ValueError(
            f"{where} must be a file of options, of at most {MAX_OPTIONS_BYTES:,} bytes. "
            f"Received: {size:,} bytes"
        )


def parse_options(text, where="options.json"):
    """The JSON object in `text` (`str` or `bytes`), or a `ValueError` that names `where`."""
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} must be a JSON file. It cannot be parsed: {error}") from None
    if not isinstance(options, dict):
        raise ValueError(
            f"{where} must hold a JSON object with `lstm` and `char_cnn`. "
            f"Received: {type(options).__name__}"
        )
    return options
