"""The models that have a name: those in packages, and the published ones."""

import importlib.metadata
import os
from typing import NamedTuple

from keras_elmo.config import MAX_OPTIONS_BYTES, OPTIONS_FILE
from keras_elmo.sources.download import RemoteFile, ensure_file, max_weights_size
from keras_elmo.weights.model_files import VOCABULARY_FILE, WEIGHTS_FILE

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ALLENNLP = "https://allennlp.s3.amazonaws.com/models/elmo"


class Preset(NamedTuple):
    """A published model."""

    options: RemoteFile
    weights: RemoteFile
    checkpoint: tuple = ()  # that of its training, with the softmax, and the vocabulary


def _preset(options, weights, parameters, checkpoint=(), size=None, sha256=None):
    # The numbers of parameters do not count the padding row. A weight file has 4 bytes for each
    # parameter, and some more.
    sizes = (size, size) if size else (4 * parameters, max_weights_size(parameters))
    return Preset(
        RemoteFile(OPTIONS_FILE, f"{_ALLENNLP}/{options}", 1, MAX_OPTIONS_BYTES),
        RemoteFile(WEIGHTS_FILE, f"{_ALLENNLP}/{weights}", *sizes, sha256),
        checkpoint,
    )


# Of the vocabulary of the 1 Billion Word Benchmark: words of 1 to 31 letters, and a line end.
_NUM_WORDS = 793_471
_VOCABULARY = RemoteFile(
    VOCABULARY_FILE,
    f"{_ALLENNLP}/2x4096_512_2048cnn_2xhighway/vocab-2016-09-10.txt",
    2 * _NUM_WORDS,
    32 * _NUM_WORDS,
)


def _checkpoint(parameters, folder, step, projection_dim):
    """The files of a checkpoint, which holds the softmax, and may hold Adagrad's sums of squares.

    The addresses are those of issues 105 and 198 of bilm-tf, and of its list of questions.
    """
    index, data = f"model.ckpt-{step}.index", f"model.ckpt-{step}.data-00000-of-00001"
    size = 4 * (parameters + _NUM_WORDS * (projection_dim + 1))
    bounds = {OPTIONS_FILE: (1, MAX_OPTIONS_BYTES), index: (1, 1 << 20), data: (size, 3 * size)}
    files = [RemoteFile(n, f"{_ALLENNLP}/{folder}/{n}", *sizes) for n, sizes in bounds.items()]
    return *files, _VOCABULARY


def _english(shape, parameters, checkpoint=None, **known):
    file = f"{shape}/elmo_{shape}"
    files = _checkpoint(parameters, *checkpoint) if checkpoint else ()
    return _preset(f"{file}_options.json", f"{file}_weights.hdf5", parameters, files, **known)


def _contributed(folder, *files):
    return _preset(*(f"contributed/{folder}/{file}" for file in files), 93_600_848)


PRESETS = {
    "small": _english(
        "2x1024_128_2048cnn_1xhighway",
        13_593_296,
        # As a public repository has it, which holds this file by Git LFS.
        sha256="747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229",
        checkpoint=("2x1024_128_2048cnn_1xhighway/tf_checkpoint", 1_501_260, 128),
    ),
    "medium": _english(
        "2x2048_256_2048cnn_1xhighway",
        28_027_728,
        checkpoint=("2x2048_256_2048cnn_1xhighway/tf_checkpoint", 1_501_260, 256),
    ),
    "original": _english(
        "2x4096_512_2048cnn_2xhighway",
        93_600_848,
        size=374_434_792,
        checkpoint=("2x4096_512_2048cnn_2xhighway_tf_checkpoint", 935_588, 512),
    ),
    "original_5.5B": _english("2x4096_512_2048cnn_2xhighway_5.5B", 93_600_848),
    "pubmed": _contributed(
        "pubmed",
        "elmo_2x4096_512_2048cnn_2xhighway_options.json",
        "elmo_2x4096_512_2048cnn_2xhighway_weights_PubMed_only.hdf5",
    ),
    "portuguese_wikipedia": _contributed("pt/wikipedia", "options.json", "elmo_pt_weights.hdf5"),
    "portuguese_brwac": _contributed("pt/brwac", "options.json", "elmo_pt_weights_dgx1.hdf5"),
}


def _packaged():
    """The folders of the models in packages, by name; saved_models/ has a card of each.

    An entry point of the group `keras_elmo.models` names a model, and the package with its files.
    """
    points = importlib.metadata.entry_points(group="keras_elmo.models")
    folders = {point.name: point.load().__path__[0] for point in points}
    return {**folders, "tiny": os.path.join(_PACKAGE, "weights", "tiny")}


def all_names():
    """The names that `fetch` takes."""
    return [*_packaged(), *PRESETS]


def cache_folder(name):
    """The folder for the files of a published model, in `$KERAS_HOME` or else in `~/.keras`."""
    home = os.path.expanduser(os.environ.get("KERAS_HOME") or "~/.keras")
    return os.path.join(home, "keras_elmo", name)


def fetch(name):
    """The paths of a model's options and weights. Those of a published one are downloaded once."""
    if folder := _packaged().get(name):
        return os.path.join(folder, OPTIONS_FILE), os.path.join(folder, WEIGHTS_FILE)
    preset = PRESETS[name]
    return tuple(_fetch(name, [preset.options, preset.weights], cache_folder(name)))


def fetch_checkpoint(name):
    """The path of a folder with `options.json`, the checkpoint and `vocab.txt`, if it has one."""
    if name not in PRESETS or not PRESETS[name].checkpoint:
        return None
    folder = cache_folder(f"{name}-checkpoint")
    _fetch(name, PRESETS[name].checkpoint, folder)
    return folder


def _fetch(name, files, folder):
    paths = [os.path.join(folder, file.name) for file in files]
    for file, path in zip(files, paths, strict=True):
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
    return paths
