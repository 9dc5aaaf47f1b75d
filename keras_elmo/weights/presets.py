"""The models that have a name: the one in the package, and the published ones."""

import os
from typing import NamedTuple

from keras_elmo.config import OPTIONS_FILE
from keras_elmo.weights.download import RemoteFile, ensure_file
from keras_elmo.weights.model_files import VOCABULARY_FILE, WEIGHTS_FILE

# The models in folders beside this file. saved_models/ has a model card of each.
PACKAGED = ("tiny",)

_ALLENNLP = "https://allennlp.s3.amazonaws.com/models/elmo"


class Preset(NamedTuple):
    """A published model: the files of its options and its weights.

    `checkpoint` has those of the checkpoint that its training left, with the softmax, and of the
    vocabulary, if they are published.
    """

    options: RemoteFile
    weights: RemoteFile
    checkpoint: tuple = ()


def _preset(
    options, weights, parameters, options_size=None, weights_size=None, weights_sha256=None
):
    return Preset(
        RemoteFile(OPTIONS_FILE, f"{_ALLENNLP}/{options}", options_size),
        RemoteFile(
            WEIGHTS_FILE, f"{_ALLENNLP}/{weights}", weights_size, 4 * parameters, weights_sha256
        ),
    )


# Of the vocabulary of the 1 Billion Word Benchmark: words of at least one letter, and a line end.
_NUM_WORDS = 793_471
_VOCABULARY = RemoteFile(
    VOCABULARY_FILE,
    f"{_ALLENNLP}/2x4096_512_2048cnn_2xhighway/vocab-2016-09-10.txt",
    min_size=2 * _NUM_WORDS,
)


def _checkpoint(parameters, folder, step, projection_dim):
    """The files of a checkpoint, which holds the softmax, and may hold Adagrad's sums of squares.

    The addresses are those of issues 105 and 198 of bilm-tf, and of its list of questions.
    """
    data, address = f"model.ckpt-{step}.data-00000-of-00001", f"{_ALLENNLP}/{folder}"
    size = 4 * (parameters + _NUM_WORDS * (projection_dim + 1))
    return (
        RemoteFile(OPTIONS_FILE, f"{address}/options.json"),
        RemoteFile(f"model.ckpt-{step}.index", f"{address}/model.ckpt-{step}.index", limit=2**20),
        RemoteFile(data, f"{address}/{data}", min_size=size, limit=3 * size),
        _VOCABULARY,
    )


def _english(shape, parameters, checkpoint=None, **known):
    file = f"{shape}/elmo_{shape}"
    preset = _preset(f"{file}_options.json", f"{file}_weights.hdf5", parameters, **known)
    files = _checkpoint(parameters, *checkpoint) if checkpoint else ()
    return preset._replace(checkpoint=files)


# The numbers of parameters do not count the padding row. A weight file has 4 bytes for each
# parameter, and some more.
PRESETS = {
    "small": _english(
        "2x1024_128_2048cnn_1xhighway",
        13_593_296,
        # As a public repository has them, which holds this file by Git LFS.
        weights_size=54_402_456,
        weights_sha256="747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229",
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
        options_size=336,
        weights_size=374_434_792,
        checkpoint=("2x4096_512_2048cnn_2xhighway_tf_checkpoint", 935_588, 512),
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


def cache_folder(name):
    """The folder for the files of a published model, in `$KERAS_HOME` or else in `~/.keras`."""
    home = os.path.expanduser(os.environ.get("KERAS_HOME") or "~/.keras")
    return os.path.join(home, "keras_elmo", name)


def has_softmax(name):
    """Whether the softmax of a model with a name is published, with its vocabulary."""
    return name in PRESETS and bool(PRESETS[name].checkpoint)


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
    preset = PRESETS[name]
    return tuple(_fetch(name, [preset.options, preset.weights], cache_folder(name)))


def fetch_checkpoint(name):
    """Finds the checkpoint of a published model, for which `has_softmax` is true, as `fetch` does.

    Returns:
        The path of a folder with `options.json`, the checkpoint and `vocab.txt`.
    """
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
