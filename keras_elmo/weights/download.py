"""`ensure_file`: downloads a file if it is missing or damaged."""

import http.client
import os
import threading
import urllib.error
import urllib.request
from typing import NamedTuple

from keras_elmo.config import DICTIONARY_FILE, MAX_OPTIONS_BYTES, read_options_file
from keras_elmo.files import has_no_room, replacing_file, sha256_of
from keras_elmo.progress import ProgressDisplay
from keras_elmo.signals import check_signals

TIMEOUT = 60  # seconds in which the server sends nothing, after which a download is an error

_HDF5_BYTES = 16 << 20  # what HDF5 adds to weights, at most
_BLOCK = 1 << 16  # the bytes between two looks for signals, at most

# One download at a time in this process: threads that ask for the same model share it.
_DOWNLOADING = threading.Lock()


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


def ensure_file(file, path, check=None):
    """Downloads a file, unless it is already at `path` without a fault.

    `keras.utils.get_file` bounds neither the size nor the time: if a server accepted the request
    and sent nothing, the caller would wait for ever. Each download has its own temporary file, so
    processes that download the same file at the same time do not disturb each other.

    Args:
        file: a `RemoteFile`.
        path: where the file should be. Its folder is made if it does not exist.
        check: function of the path of what was downloaded, before it takes its place. It raises
            an error if that is not what it must be.

    Raises:
        OSError: the download failed, or what the server sent has a fault. Then `path` does not
            change.
    """
    with _DOWNLOADING:
        if os.path.isfile(path) and not _fault(file, path):
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with replacing_file(path) as temporary:
            try:
                _receive(file, temporary)
            except TimeoutError:
                raise OSError(f"{file.url} sent nothing for {TIMEOUT} seconds") from None
            except (OSError, ValueError, http.client.HTTPException) as error:
                if has_no_room(error):
                    raise
                raise OSError(f"{file.url}: {error}") from None
            if fault := _fault(file, temporary):
                raise OSError(f"{file.url} {fault}")
            if check is not None:
                check(temporary)


def _receive(file, path):
    opener = urllib.request.build_opener(_Redirects)
    with opener.open(file.url, timeout=TIMEOUT) as response, open(path, "wb") as target:
        size, received = response.length, 0
        rule = f"it must have at most {file.max_size:,} bytes. Received: "
        if size is not None and size > file.max_size:
            raise OSError(f"{rule}{size:,}")
        with ProgressDisplay(f"downloading {file.name}", size, "MB") as display:
            while block := response.read1(_BLOCK):  # what has arrived, at most a block
                check_signals()
                received += len(block)
                if received > file.max_size:
                    raise OSError(f"{rule}more")
                target.write(block)
                display.update(received)
    if size is not None and received != size:
        raise OSError(f"the connection ended after {received:,} of {size:,} bytes")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, except from an https address to one that is not encrypted."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and not newurl.lower().startswith("https:"):
            raise urllib.error.URLError(f"it leads to an address without https, {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


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
