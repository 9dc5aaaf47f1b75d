"""Models by name: the packaged one, and the published ones, which are downloaded."""

import hashlib
import http.client
import os
import threading
import urllib.error
import urllib.request
from typing import NamedTuple

from keras_elmo.files import replacing_file
from keras_elmo.options_file import read_options_file

# Seconds without a byte from the server, after which a download is given up. Long enough for a
# slow disk behind the server, short enough that nobody takes the wait for work.
TIMEOUT = 60

_BLOCK = 1 << 16  # bytes that are received at a time

# One download at a time in this process: threads that ask for the same model share it.
_DOWNLOADING = threading.Lock()

# Those in folders beside this file; saved_models/ has a card of each.
PACKAGED = ("tiny",)

_ALLENNLP = "https://allennlp.s3.amazonaws.com/models/elmo"


class RemoteFile(NamedTuple):
    """A file to download.

    Attributes:
        name: its name in the cache.
        url: where it is.
        size: its bytes, where they are known; else `None`.
        least_size: the bytes it has at least.
        sha256: its checksum, where one is published; else `None`. (None of these models has one:
            what a file holds is checked when it is loaded, dataset by dataset.)
    """

    name: str
    url: str
    size: int | None = None
    least_size: int = 1
    sha256: str | None = None


class Preset(NamedTuple):
    """A published model: the files of its options and its weights."""

    options: RemoteFile
    weights: RemoteFile


def _preset(options, weights, parameters, options_size=None, weights_size=None):
    return Preset(
        RemoteFile("options.json", f"{_ALLENNLP}/{options}", options_size),
        RemoteFile(
            "weights.hdf5", f"{_ALLENNLP}/{weights}", weights_size, least_size=4 * parameters
        ),
    )


def _english(shape, parameters, **sizes):
    folder = f"{shape}/elmo_{shape}"
    return _preset(f"{folder}_options.json", f"{folder}_weights.hdf5", parameters, **sizes)


# Parameters are those without the padding row; a weight file has 4 bytes for each, and some more.
PRESETS = {
    "small": _english("2x1024_128_2048cnn_1xhighway", 13_593_296),
    "medium": _english("2x2048_256_2048cnn_1xhighway", 28_027_728),
    "original": _english(
        "2x4096_512_2048cnn_2xhighway", 93_600_848, options_size=336, weights_size=374_434_792
    ),
    "original_5.5B": _english("2x4096_512_2048cnn_2xhighway_5.5B", 93_600_848),
    "pubmed": _preset(
        "contributed/pubmed/elmo_2x4096_512_2048cnn_2xhighway_options.json",
        "contributed/pubmed/elmo_2x4096_512_2048cnn_2xhighway_weights_PubMed_only.hdf5",
        93_600_848,
    ),
    "portuguese_wikipedia": _preset(
        "contributed/pt/wikipedia/options.json",
        "contributed/pt/wikipedia/elmo_pt_weights.hdf5",
        93_600_848,
    ),
    "portuguese_brwac": _preset(
        "contributed/pt/brwac/options.json",
        "contributed/pt/brwac/elmo_pt_weights_dgx1.hdf5",
        93_600_848,
    ),
}


def names():
    """What `fetch` takes."""
    return [*PACKAGED, *PRESETS]


def name_of(url):
    """The published model whose weights are at a URL, by the file's name; `None` for others."""
    file = url.rpartition("/")[2]
    names = [name for name, preset in PRESETS.items() if preset.weights.url.endswith(f"/{file}")]
    return names[0] if "://" in url and len(names) == 1 else None


def cache_folder(name):
    """Where the files of a published model are kept.

    Below `$KERAS_HOME` where it is set, else `~/.keras`.
    """
    home = os.path.expanduser(os.environ.get("KERAS_HOME") or "~/.keras")
    return os.path.join(home, "keras_elmo", name)


def fetch(name):
    """The files of a model: those in the package, or of a published one, downloaded once and kept.

    Args:
        name: one of `names()`.

    Returns:
        The paths of its options and its weights.

    Raises:
        OSError: a download failed, or gave something else than the published file. The message
            says where to put the files by hand.
    """
    if name in PACKAGED:
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        return os.path.join(folder, "options.json"), os.path.join(folder, "weights.hdf5")
    preset, folder = PRESETS[name], cache_folder(name)
    paths = []
    for file in preset:
        path = os.path.join(folder, file.name)
        try:
            if not _is_there(file, path):
                with _DOWNLOADING:
                    if not _is_there(file, path):  # another thread may have been first
                        _download(file, path)
        except OSError as error:
            raise OSError(
                f"The model {name!r} cannot be downloaded: {error}. To go on by hand, download\n"
                f"  {preset.options.url}\n  {preset.weights.url}\n"
                f"and put them into {folder} as {preset.options.name} and "
                f"{preset.weights.name}; or pass the pair of their paths to from_pretrained."
            ) from error
        paths.append(path)
    return tuple(paths)


def _is_there(file, path):
    return os.path.isfile(path) and not _fault(file, path)


def _download(file, path):
    """Downloads a file, which is at `path` only when it is whole and what it must be.

    This is not `keras.utils.get_file`, which has no time-out: a server that accepts the request and
    sends nothing would hold the caller for ever. The only time-out that `get_file` heeds,
    `socket.setdefaulttimeout`, is one of all threads. Each download has a temporary file of its
    own, so processes that download the same file at once do not disturb each other.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with replacing_file(path) as temporary:
        try:
            _receive(file.url, temporary)
        except TimeoutError:
            raise OSError(f"{file.url} sent nothing for {TIMEOUT} seconds") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):  # while it connected
                error = f"there was no connection within {TIMEOUT} seconds"
            raise OSError(f"{file.url}: {error}") from None
        fault = _fault(file, temporary)
        if fault:
            raise OSError(f"{file.url} {fault}")


def _receive(url, path):
    import keras

    opener = urllib.request.build_opener(_Redirects)
    with opener.open(url, timeout=TIMEOUT) as response, open(path, "wb") as target:
        size = response.headers.get("Content-Length")
        size = int(size) if size and size.isdecimal() else None
        progress = keras.utils.Progbar(size, unit_name="byte")
        received = 0
        while block := response.read1(_BLOCK):  # what is there, at most a block
            target.write(block)
            received += len(block)
            progress.update(received, finalize=received == size)
    if size is not None and received != size:
        raise OSError(f"the connection ended after {received:,} of {size:,} bytes")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects, but none that leads from an encrypted address to another kind."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if req.type == "https" and not newurl.lower().startswith("https:"):
            raise urllib.error.URLError(f"it leads to an address without https, {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fault(file, path):
    """What is wrong with a downloaded file, or `None`."""
    size = os.path.getsize(path)
    if file.size is not None and size != file.size:
        return f"must have {file.size:,} bytes. Received: {size:,}"
    if size < file.least_size:
        return f"must have at least {file.least_size:,} bytes. Received: {size:,}"
    if file.name.endswith(".json"):  # a page of a portal, say
        try:
            read_options_file(path, file.name)
        except ValueError as error:
            return str(error)
    if file.sha256 is not None:
        digest = hashlib.sha256()
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        digest = digest.hexdigest()
        if digest != file.sha256:
            return f"must have the sha256 {file.sha256}. Received: {digest}"
    return None
