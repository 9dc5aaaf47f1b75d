"""The models and tasks that have a name: our own, those of other packages, the published ones.

Another package names its folders in entry points of `GROUPS`: `NAME = "PACKAGE"`, or a folder in
it, `"PACKAGE.FOLDER"`. saved_models/biomedical is such a package.
"""

import contextlib
import importlib.metadata
import importlib.util
import os
from typing import NamedTuple

from keras_elmo.checks import join_names
from keras_elmo.config import MAX_OPTIONS_BYTES, OPTIONS_FILE, VOCABULARY_FILE, WEIGHTS_FILE
from keras_elmo.sources.download import RemoteFile, ensure_file, max_weights_size

GROUPS = "keras_elmo.models", "keras_elmo.tasks"  # of models, and of classifiers and taggers
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OWN = {
    "tiny": (GROUPS[0], os.path.join(_PACKAGE, "weights", "tiny")),
    "pos": (GROUPS[1], os.path.join(_PACKAGE, "tasks", "pos")),
}
_ALLENNLP = "https://allennlp.s3.amazonaws.com/models/elmo"


class Preset(NamedTuple):
    """A published model."""

    options: RemoteFile
    weights: RemoteFile
    checkpoint: tuple = ()  # that of its training, with the softmax, and the vocabulary


# Of the vocabulary of the 1 Billion Word Benchmark: words of 1 to 31 letters, and a line end.
_NUM_WORDS = 793_471
_VOCABULARY = "2x4096_512_2048cnn_2xhighway/vocab-2016-09-10.txt"


def _preset(folder, *names, parameters=93_600_848, checkpoint=None, size=None, sha256=None):
    """`checkpoint` is its folder, its step, and the size of the projections.

    It holds the softmax, and may hold Adagrad's sums of squares. The addresses are those of issues
    105 and 198 of bilm-tf, and of its list of questions. The `parameters` are without padding.
    """
    sizes = (size, size) if size else (4 * parameters, max_weights_size(parameters))
    options, weights = names or (f"elmo_{folder}_options.json", f"elmo_{folder}_weights.hdf5")
    files = [(f"{folder}/{options}", OPTIONS_FILE, 1, MAX_OPTIONS_BYTES)]
    files.append((f"{folder}/{weights}", WEIGHTS_FILE, *sizes, sha256))
    if checkpoint is not None:
        folder, step, projection_dim = checkpoint
        index, data = f"model.ckpt-{step}.index", f"model.ckpt-{step}.data-00000-of-00001"
        size = 4 * (parameters + _NUM_WORDS * (projection_dim + 1))
        bounds = {OPTIONS_FILE: (1, MAX_OPTIONS_BYTES), index: (1, 1 << 20), data: (size, 3 * size)}
        files += [(f"{folder}/{name}", name, *sizes) for name, sizes in bounds.items()]
        files.append((_VOCABULARY, VOCABULARY_FILE, 2 * _NUM_WORDS, 32 * _NUM_WORDS))
    files = [RemoteFile(name, f"{_ALLENNLP}/{path}", *known) for path, name, *known in files]
    return Preset(*files[:2], tuple(files[2:]))


PRESETS = {
    "small": _preset(
        "2x1024_128_2048cnn_1xhighway",
        parameters=13_593_296,
        # As a public repository has it, which holds this file by Git LFS.
        sha256="747ba97abce8a5f446558369e10bb0f7931437a46867476fdd156f5d7f576229",
        checkpoint=("2x1024_128_2048cnn_1xhighway/tf_checkpoint", 1_501_260, 128),
    ),
    "medium": _preset(
        "2x2048_256_2048cnn_1xhighway",
        parameters=28_027_728,
        checkpoint=("2x2048_256_2048cnn_1xhighway/tf_checkpoint", 1_501_260, 256),
    ),
    "original": _preset(
        "2x4096_512_2048cnn_2xhighway",
        size=374_434_792,
        checkpoint=("2x4096_512_2048cnn_2xhighway_tf_checkpoint", 935_588, 512),
    ),
    "original_5.5B": _preset("2x4096_512_2048cnn_2xhighway_5.5B"),
    "pubmed": _preset(
        "contributed/pubmed",
        "elmo_2x4096_512_2048cnn_2xhighway_options.json",
        "elmo_2x4096_512_2048cnn_2xhighway_weights_PubMed_only.hdf5",
    ),
    "portuguese_wikipedia": _preset(
        "contributed/pt/wikipedia", "options.json", "elmo_pt_weights.hdf5"
    ),
    "portuguese_brwac": _preset(
        "contributed/pt/brwac", "options.json", "elmo_pt_weights_dgx1.hdf5"
    ),
}


def all_names(group=GROUPS[0]):
    """The names of a group. No package is imported for them."""
    own = [name for name, (its_group, _) in _OWN.items() if its_group == group]
    packaged = [point.name for point in importlib.metadata.entry_points(group=group)]
    return list(dict.fromkeys([*own, *packaged, *(PRESETS if group == GROUPS[0] else ())]))


def find_name(name):
    """The folder of a model with a name, or `None`. That of a published one may lack its files.

    Raises a `ValueError` if two packages have the name, or one has no folder for it.
    """
    if name in _OWN:
        return _OWN[name][1]
    if name in PRESETS:
        return cache_folder(name)
    point = _entry_point(name)
    if point is None:
        return None
    package, *folders = point.value.partition(":")[0].strip().split(".")
    with contextlib.suppress(ImportError, AttributeError, ValueError):  # there is no such package
        # This finds a package without an import of its code.
        for parent in importlib.util.find_spec(package).submodule_search_locations or ():
            if os.path.isdir(path := os.path.join(parent, *folders)):
                return path
    raise ValueError(
        f"The package {point.dist.name} must have a folder with the files of the model {name!r}; "
        f"install it again. Received: no folder {point.value}"
    )


def package_of(name):
    """The name on PyPI of the other package that brings a model, or `None`."""
    point = _entry_point(name)
    return point and point.dist.name


def _entry_point(name):
    if name in _OWN or name in PRESETS:
        return None  # no package takes them over
    points = importlib.metadata.entry_points(name=name)
    points = [point for point in points if point.group in GROUPS]
    if len(points) > 1:
        owners = join_names([point.dist.name for point in points])
        raise ValueError(
            f"Only one installed package may have a model {name!r}; uninstall the others. "
            f"Received: {owners}"
        )
    return points[0] if points else None


def cache_folder(name):
    """The folder for the files of a published model, in `$KERAS_HOME` or else in `~/.keras`."""
    home = os.path.expanduser(os.environ.get("KERAS_HOME") or "~/.keras")
    return os.path.join(home, "keras_elmo", name)


def fetch(name, with_softmax=False):
    """The folder of a published model; `with_softmax`, of its checkpoint, if it has one."""
    files, folder = PRESETS[name][:2], cache_folder(name)
    if with_softmax and PRESETS[name].checkpoint:
        files, folder = PRESETS[name].checkpoint, cache_folder(f"{name}-checkpoint")
    for file in files:
        try:
            ensure_file(file, os.path.join(folder, file.name))
        except OSError as error:
            if error.errno is not None:  # of this machine
                raise
            urls = "".join(f"  {file.url}\n" for file in files)
            raise OSError(
                f"The model {name!r} cannot be downloaded: {error}. To do it by hand, download\n"
                f"{urls}and put them into {folder} as {', '.join(file.name for file in files)}"
            ) from error
    return folder
