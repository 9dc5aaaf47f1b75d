"""Models by name: the packaged one, and the published ones: where they are, how they are had."""

import hashlib
import os
from typing import NamedTuple

from keras_elmo.config import parse_options

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
        if not (os.path.isfile(path) and not _fault(file, path)):
            try:
                _download(file, path)
            except OSError as error:
                raise OSError(
                    f"The model {name!r} cannot be had: {error}. To go on by hand, download\n"
                    f"  {preset.options.url}\n  {preset.weights.url}\n"
                    f"and put them into {folder} as {preset.options.name} and "
                    f"{preset.weights.name}; or pass the pair of their paths to from_pretrained."
                ) from error
        paths.append(path)
    return tuple(paths)


def _download(file, path):
    import keras

    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    # The process's number: two at once do not write into one file.
    part = f"{file.name}.{os.getpid()}.part"
    temporary = os.path.join(folder, part)
    try:
        try:
            keras.utils.get_file(
                part,
                file.url,
                cache_dir=os.path.dirname(folder),
                cache_subdir=os.path.basename(folder),
                force_download=True,
            )
        except Exception as error:  # get_file raises bare Exceptions
            raise OSError(str(error)) from error
        fault = _fault(file, temporary)
        if fault:
            raise OSError(f"{file.url} {fault}")
        os.replace(temporary, path)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


def _fault(file, path):
    """What is wrong with a downloaded file, or `None`."""
    size = os.path.getsize(path)
    if file.size is not None and size != file.size:
        return f"must have {file.size:,} bytes. Received: {size:,}"
    if size < file.least_size:
        return f"must have at least {file.least_size:,} bytes. Received: {size:,}"
    if file.name.endswith(".json"):  # a page of a portal, say
        with open(path, "rb") as stream:
            try:
                parse_options(stream.read(), file.name)
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
