"""`ensure_file`: downloads a file if it is missing or damaged. There is no second try."""

import os
import re
import tempfile
import urllib.parse
from typing import NamedTuple

import filelock
import requests

from keras_elmo.checks import printable
from keras_elmo.config import DICTIONARY_FILE, read_options_file
from keras_elmo.files.atomic import has_no_room, replacing_file, sha256_of
from keras_elmo.process.progress import ProgressBar
from keras_elmo.process.signals import check_signals, raising_signals

TIMEOUT = 60  # seconds in which the server sends nothing, after which a download is an error
_HDF5_BYTES = 16 << 20  # what HDF5 adds to weights, at most
_BLOCK = 1 << 16  # the bytes that are written together


class RemoteFile(NamedTuple):
    """A file to download, and what is known of it. Sizes are in bytes."""

    name: str  # A `*.json` must hold options.
    url: str
    min_size: int
    max_size: int  # A server may send more, without an end.
    sha256: str | None = None


def max_weights_size(num_parameters):
    """The largest size in bytes of a file of weights: that of float64, and what HDF5 adds."""
    return 8 * num_parameters + _HDF5_BYTES


def ensure_file(file, path, check=None, is_damaged=None):
    """Downloads a file, unless it is at `path` without a fault. After an error `path` is as before.

    One thread of one process downloads into a folder at a time. The others wait for it. `check`
    gets the path of what was downloaded, and may raise an error. `is_damaged` says whether the file
    at `path` has a fault that `file` does not show.
    """

    def is_there():
        is_whole = os.path.isfile(path) and not _fault(file, path)
        return is_whole and not (is_damaged and is_damaged())

    if is_there():  # also where nothing can be written
        return
    folder, url = os.path.dirname(path), shown_address(file.url)
    try:
        os.makedirs(folder, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        hint = f"{error.strerror}; set KERAS_HOME to a folder that can be written"
        raise type(error)(error.errno, hint, folder) from None
    with raising_signals(), filelock.FileLock(os.path.join(folder, ".lock")):
        if is_there():
            return
        with replacing_file(path) as temporary:
            try:
                _receive(file, temporary)
            except (OSError, ValueError) as error:  # those of requests, too
                if has_no_room(error):
                    raise
                raise OSError(f"{url}: {_reason(error)}") from None
            if fault := _fault(file, temporary):
                raise OSError(f"{url} {fault}")
            if check is not None:
                check(temporary)


def shown_address(address):
    """An address for messages, without a password and what follows `?` or `#`; or a path."""
    address = os.fspath(address)
    return without_secrets(address, len(address)) if "://" in address else address


def without_secrets(text, max_characters=300):
    """What others wrote, for an error message: one line, without the secrets of addresses."""
    text = re.sub(r"//[^\s/]*@", "//", text)
    text = re.sub(r"[?#][^\s'\")]+", "", text)
    text = printable(text)
    return text if len(text) <= max_characters else f"{text[:max_characters]}..."


def _receive(file, path):
    name, received = f"downloading {file.name}", 0
    with (
        requests.get(
            file.url,
            stream=True,
            timeout=TIMEOUT,
            headers={"Accept-Encoding": "identity"},  # a compressed file has another size
            hooks={"response": _refuse_unencrypted},
        ) as response,
        open(path, "wb") as target,
        ProgressBar(name, unit="B") as bar,
    ):
        response.raise_for_status()
        bar.total = total = int(response.headers.get("content-length", 0)) or None
        for block in response.iter_content(_BLOCK):
            check_signals()
            received += len(block)
            if (size := max(total or 0, received)) > file.max_size:
                raise OSError(f"it must have at most {file.max_size:,} bytes. Received: {size:,}")
            target.write(block)
            bar.update(len(block))
        if total not in (None, received):
            raise OSError(f"the connection ended after {received:,} of {total:,} bytes")


def _refuse_unencrypted(response, **_):
    if response.is_redirect and response.url.lower().startswith("https:"):
        target = urllib.parse.urljoin(response.url, response.headers["location"])
        if not target.lower().startswith("https:"):
            raise OSError(f"it leads to an address without https, {target}")


def _reason(error):
    if isinstance(error, requests.HTTPError):
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout) or "timed out" in str(error):
        return f"it sent nothing for {TIMEOUT} seconds"
    return without_secrets(str(error))


def _fault(file, path):
    """What is wrong with a downloaded file, or `None`."""
    size = os.path.getsize(path)
    if not file.min_size <= size <= file.max_size:
        sizes = " to ".join(f"{size:,}" for size in sorted({file.min_size, file.max_size}))
        return f"must have {sizes} bytes. Received: {size:,}"
    if file.name.endswith(".json"):  # it may be the login page of a network
        try:
            read_options_file(path, file.name)
        except ValueError as error:
            return str(error)
        except FileNotFoundError:
            return f"must not need a {DICTIONARY_FILE}; share such a model as a zip"
    if file.sha256 is not None and (digest := sha256_of(path)) != file.sha256:
        return f"must have the sha256 {file.sha256}. Received: {digest}"
    return None
