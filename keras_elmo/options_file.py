"""Reads options.json files, and refuses files that cannot be one."""

import json
import os

# The published options have less than 1 kB. A larger file is refused before it is parsed.
MAX_OPTIONS_BYTES = 1 << 20
# The dictionary of a model with a table of 150,000 words, as the published ones have at most, has
# about 3 MB.
MAX_DICTIONARY_BYTES = 64 << 20
DICTIONARY_FILE = "dictionary.json"


def read_options_file(path, where=None):
    """Reads the JSON object in an options.json of at most 1 MiB, and the dictionary that it names.

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

    def read_dictionary():
        return read_bounded(os.path.join(os.path.dirname(path), DICTIONARY_FILE))

    # JSON detects the encoding, and a byte-order mark.
    options = parse_options(read_bounded(path, MAX_OPTIONS_BYTES, where), where)
    return with_dictionary(options, read_dictionary, where)


def read_bounded(path, limit=MAX_DICTIONARY_BYTES, where=None):
    """The bytes of a file, or a `ValueError` where there are too many."""
    with open(path, "rb") as file:
        data = file.read(limit + 1)
        size = max(len(data), os.fstat(file.fileno()).st_size)
        check_size(size, str(path) if where is None else where, limit)
    return data


def check_size(size, where, limit=MAX_OPTIONS_BYTES):
    """Raises a `ValueError` for a file of options, or of a dictionary, that is too large."""
    if size > limit:
        raise ValueError(
            f"{where} must be a file of options, of at most {limit:,} bytes. "
            f"Received: {size:,} bytes"
        )


def with_dictionary(options, read_dictionary, where):
    """Options with their dictionary inside, where it is in a file of its own.

    Args:
        options: dict.
        read_dictionary: function that returns the bytes of the file `dictionary.json` beside them.
        where: what error messages call the options.
    """
    if options.get("dictionary") != DICTIONARY_FILE:
        return options
    where = os.path.join(os.path.dirname(where), DICTIONARY_FILE)
    return {**options, "dictionary": parse_options(read_dictionary(), where)}


def parse_options(text, where="options.json"):
    """The JSON object in `text` (`str` or `bytes`), or a `ValueError` that names `where`."""
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} must be a JSON file. Received: other text ({error})") from None
    if not isinstance(options, dict):
        raise ValueError(f"{where} must hold a JSON object. Received: {type(options).__name__}")
    return options
