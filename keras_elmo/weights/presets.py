"""The models that have a name: the one in the package, and the published ones."""

import os
from typing import NamedTuple

from keras_elmo.config import OPTIONS_FILE
from keras_elmo.weights.download import RemoteFile, ensure_file
from keras_elmo.weights.model_files import WEIGHTS_FILE

# The models in folders beside this file. saved_models/ has a model card of each.
PACKAGED = ("tiny",)

_ALLENNLP = "https://allennlp.s3.amazonaws.com/models/elmo"


class Preset(NamedTuple):
    """A published model: the files of its options and its weights."""

    options: RemoteFile
    weights: RemoteFile


def _preset(options, weights, parameters, options_size=None, weights_size=None):
    return Preset(
        RemoteFile(OPTIONS_FILE, f"{_ALLENNLP}/{options}", options_size),
        RemoteFile(WEIGHTS_FILE, f"{_ALLENNLP}/{weights}", weights_size, min_size=4 * parameters),
    )


def _english(shape, parameters, **sizes):
    folder = f"{shape}/elmo_{shape}"
    return _preset(f"{folder}_options.json", f"{folder}_weights.hdf5", parameters, **sizes)


# The numbers of parameters do not count the padding row. A weight file has 4 bytes for each
# parameter, and some more.
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
    """The names that `fetch` takes."""
    return [*PACKAGED, *PRESETS]


def name_of(url):
    """The name of the published model whose weight file has the name in `url`, or `None`."""
    file = url.rpartition("/")[2]
    names = [name for name, preset in PRESETS.items() if preset.weights.url.endswith(f"/{file}")]
    return names[0] if "://" in url and len(names) == 1 else None


def cache_folder(name):
    """The folder for the files of a published model, in `$KERAS_HOME` or else in `~/.keras`."""
    home = os.path.expanduser(os.environ.get("KERAS_HOME") or "~/.keras")
    return os.path.join(home, "keras_elmo", name)


def fetch(name):
    """Finds the files of a model. Those of a published model are downloaded once and kept.

    Args:
        name: one of `names()`.

    Returns:
        The paths of its options and its weights.

    Raises:
        OSError: a download failed, or the server sent something else than the published file. The
            message says how to download the files by hand.
    """
    if name in PACKAGED:
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        return os.path.join(folder, OPTIONS_FILE), os.path.join(folder, WEIGHTS_FILE)
    preset, folder = PRESETS[name], cache_folder(name)
    paths = []
    for file in preset:
        path = os.path.join(folder, file.name)
        try:
            ensure_file(file, path)
        except OSError as error:
            raise OSError(
                f"The model {name!r} cannot be downloaded: {error}. To do it by hand, download\n"
                f"  {preset.options.url}\n  {preset.weights.url}\n"
                f"and put them into {folder} as {preset.options.name} and "
                f"{preset.weights.name}; or pass the pair of their paths to from_pretrained."
            ) from error
        paths.append(path)
    return tuple(paths)
