"""`ensure_file`: downloads a file if it is missing or damaged. There is no second try."""

import os
import re
import urllib.parse
from typing import NamedTuple

import filelock
import requests

from keras_elmo.config import DICTIONARY_FILE, MAX_OPTIONS_BYTES, read_options_file
from keras_elmo.files.atomic import has_no_room, replacing_file, sha256_of
from keras_elmo.process.progress import ProgressBar
from keras_elmo.process.signals import check_signals, raising_signals

TIMEOUT = 60  # seconds in which the server sends nothing, after which a download is an error

_HDF5_BYTES = 16 << 20  # what HDF5 adds to weights, at most
_BLOCK = 1 << 16  # the bytes that are written together


class RemoteFile(NamedTuple):
    """A file to download.

    Attributes:
        name: str. The name of the downloaded file. A `*.json` must hold options.
        url: str. The file's address.
        size: int. Its size in bytes, or `None` if it is not known.
        min_size: int. The smallest size in bytes that it can have: that of float32 weights.
        sha256: str. Its checksum, or `None` if it is not known. (Of the published models, that of
            `small` is known. The datasets of all weight files are checked when they are loaded.)
        limit: int. The largest size in bytes that it can have, or `None` for that of options, or
            of weights whose smallest size is `min_size`.
    """

    name: str
    url: str
    size: int | None = None
    min_size: int = 1
    sha256: str | None = None
    limit: int | None = None

    @property
    def max_size(self):
        """The largest size in bytes that it can have: a server may send more, without an end."""
        if self.size is not None:
            return self.size
        if self.limit is not None:
            return self.limit
        is_options = self.name.endswith(".json")
        return MAX_OPTIONS_BYTES if is_options else max_weights_size(self.min_size // 4)


def max_weights_size(num_parameters):
    """The largest size in bytes of a file of weights: that of float64, and what HDF5 adds."""
    return 8 * num_parameters + _HDF5_BYTES


def ensure_file(file, path, check=None, is_damaged=None):
    """Downloads a file, unless it is already at `path` without a fault.

    One thread of one process downloads into a folder at a time. The others wait, and then find the
    file. A signal ends both the download and the wait at once.

    Args:
        file: a `RemoteFile`.
        path: where the file should be. Its folder is made if it does not exist.
        check: function of the path of what was downloaded, before it takes its place. It raises
            an error if that is not what it must be.
        is_damaged: function that says whether the file at `path` has a fault that its size and its
            checksum in `file` do not show.

    Raises:
        OSError: the download failed, or what the server sent has a fault. Then `path` does not
            change.
    """

    def is_there():
        is_whole = os.path.isfile(path) and not _fault(file, path)
        return is_whole and not (is_damaged and is_damaged())

    if is_there():  # also where nothing can be written
        return
    folder, url = os.path.dirname(path), shown_address(file.url)
    os.makedirs(folder, exist_ok=True)
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
    """An address for messages: without a password, and without what follows `?` or `#`."""
    return printable(address, len(address))


def printable(text, max_characters=300):
    """What others wrote, for an error message: one line, without the secrets of addresses."""
    text = re.sub(r"//[^\s/]*@", "//", text)
    text = re.sub(r"[?#][^\s'\")]+", "", text)
    text = "".join(character if character.isprintable() else " " for character in text)
    return text if len(text) <= max_characters else f"{text[:max_characters]}..."


def _receive(file, path):
    """Writes what the server sends to a file."""
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
            if max(total or 0, received) > file.max_size:
                raise OSError(
                    f"it must have at most {file.max_size:,} bytes. "
                    f"Received: {max(total or 0, received):,}"
                )
            target.write(block)
            bar.update(len(block))
        if total not in (None, received):
            raise OSError(f"the connection ended after {received:,} of {total:,} bytes")


def _refuse_unencrypted(response, **_):
    """Refuses redirects from an https address to one that is not encrypted."""
    if response.is_redirect and response.url.lower().startswith("https:"):
        target = urllib.parse.urljoin(response.url, response.headers["location"])
        if not target.lower().startswith("https:"):
            raise OSError(f"it leads to an address without https, {target}")


def _reason(error):
    """Why a download failed."""
    if isinstance(error, requests.HTTPError):
        return f"HTTP status {error.response.status_code}"
    if isinstance(error, requests.Timeout) or "timed out" in str(error):
        return f"it sent nothing for {TIMEOUT} seconds"
    return printable(str(error))


def _fault(file, path):
    """What is wrong with a downloaded file, or `None`."""
    size = os.path.getsize(path)
    if file.size is not None and size != file.size:
        return f"must have {file.size:,} bytes. Received: {size:,}"
    if size < file.min_size:
        return f"must have at least {file.min_size:,} bytes. Received: {size:,}"
    if file.name.endswith(".json"):  # it may be the login page of a network
        try:
            read_options_file(path, file.name)
        except ValueError as error:
            return str(error)
        except FileNotFoundError:
            return (
                f"must not need a {DICTIONARY_FILE}: share such a model as a zip, not as two files."
                " Received: options that name it"
            )
    if file.sha256 is not None and (digest := sha256_of(path)) != file.sha256:
        return f"must have the sha256 {file.sha256}. Received: {digest}"
    return None
