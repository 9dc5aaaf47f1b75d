"""The models that have a name: the one in the package, and the published ones."""

import os
from typing import NamedTuple

from keras_elmo.config import OPTIONS_FILE
from keras_elmo.weights.download import RemoteFile, ensure_file
from keras_elmo.weights.model_files import SOFTMAX_FILE, VOCABULARY_FILE, WEIGHTS_FILE

# The models in folders beside this file. saved_models/ has a model card of each.
PACKAGED = ("tiny",)

_ALLENNLP = "https://allennlp.s3.amazonaws.com/models/elmo"


class Preset(NamedTuple):
    """A published model: the files of its options and its weights.

    `softmax` has the files of its softmax and its vocabulary, if they are published.
    """

    options: RemoteFile
    weights: RemoteFile
    softmax: tuple = ()


def _preset(
    options, weights, parameters, options_size=None, weights_size=None, weights_sha256=None
):
    return Preset(
        RemoteFile(OPTIONS_FILE, f"{_ALLENNLP}/{options}", options_size),
        RemoteFile(
            WEIGHTS_FILE, f"{_ALLENNLP}/{weights}", weights_size, 4 * parameters, weights_sha256
        ),
    )


def _english(shape, parameters, **known):
    folder = f"{shape}/elmo_{shape}"
    return _preset(f"{folder}_options.json", f"{folder}_weights.hdf5", parameters, **known)


# Of the softmax of the 1 Billion Word Benchmark, which also has a bias for each word, and of its
# vocabulary, in which a word has at least one letter, and a line end.
_NUM_WORDS = 793_471
_ORIGINAL = f"{_ALLENNLP}/2x4096_512_2048cnn_2xhighway"
_SOFTMAX = (
    RemoteFile(
        SOFTMAX_FILE,
        f"{_ORIGINAL}/elmo_2x4096_512_2048cnn_2xhighway_softmax_weights.hdf5",
        min_size=4 * _NUM_WORDS * 512,
    ),
    RemoteFile(VOCABULARY_FILE, f"{_ORIGINAL}/vocab-2016-09-10.txt", min_size=2 * _NUM_WORDS),
)
# The numbers of parameters do not count the padding row. A weight file has 4 bytes for each
# parameter, and some more.
PRESETS = {
    "small": _english(
        "2x1024_128_2048cnn_1xhighway",
        13_593_296,
        # As a public repository has them, which holds this file by Git LFS.
        weights_size=54_402_456,
        weights_sha256="747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229",
    ),
    "medium": _english("2x2048_256_2048cnn_1xhighway", 28_027_728),
    "original": _english(
        "2x4096_512_2048cnn_2xhighway", 93_600_848, options_size=336, weights_size=374_434_792
    )._replace(softmax=_SOFTMAX),
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


def has_softmax(name):
    """Whether the softmax of a model with a name is published, with its vocabulary."""
    return name in PRESETS and bool(PRESETS[name].softmax)


def fetch(name, with_softmax=False):
    """Finds the files of a model. Those of a published model are downloaded once and kept.

    Args:
        name: one of `names()`.
        with_softmax: bool. Whether to download the softmax and the vocabulary, too, if they are
            published.

    Returns:
        The paths of its options and its weights. They are in one folder, and so are the softmax
        and the vocabulary.

    Raises:
        OSError: a download failed, or the server sent something else than the published file. The
            message says how to download the files by hand.
    """
    if name in PACKAGED:
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        return os.path.join(folder, OPTIONS_FILE), os.path.join(folder, WEIGHTS_FILE)
    preset, folder = PRESETS[name], cache_folder(name)
    files = [preset.options, preset.weights, *(preset.softmax if with_softmax else ())]
    paths = []
    for file in files:
        path = os.path.join(folder, file.name)
        try:
            ensure_file(file, path)
        except OSError as error:
            urls = "".join(f"  {file.url}\n" for file in files)
            *first, last = (file.name for file in files)
            raise OSError(
                f"The model {name!r} cannot be downloaded: {error}. To do it by hand, download\n"
                f"{urls}and put them into {folder} as {', '.join(first)} and {last}; or pass the "
                "path of another folder with them to from_pretrained."
            ) from error
        paths.append(path)
    return tuple(paths[:2])
