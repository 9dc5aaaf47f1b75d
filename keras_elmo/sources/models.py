"""`open_model`: finds the options and weights of a model, whatever names it."""

import os
import posixpath

from keras_elmo.checks import join_names, short_repr
from keras_elmo.config import (
    DICTIONARY_FILE,
    MAX_DICTIONARY_BYTES,
    MAX_OPTIONS_BYTES,
    MAX_PARAMETERS,
    OPTIONS_FILE,
    ElmoConfig,
    parse_options,
    read_bounded,
    read_options_file,
    with_dictionary,
)
from keras_elmo.sources import addresses, names
from keras_elmo.sources.archives import ExtractedPath, open_archive
from keras_elmo.sources.download import max_weights_size, shown_address
from keras_elmo.weights import hdf5, tf_checkpoint
from keras_elmo.weights.model_files import FORMATS, WEIGHTS_FILE

_ALLENNLP_OPTIONS = "_options.json"  # the end of the names that AllenNLP gives its options


def open_model(source):
    """The `ElmoConfig` of a model, and what `load_weights` takes; see `Elmo.from_pretrained`.

    The weights are a path, a binary file object, or a tuple of these.
    """
    if isinstance(source, list | tuple) and len(source) == 2:
        options, weights = source
        if addresses.is_url(options):
            options = addresses.fetch_url(options, OPTIONS_FILE, MAX_OPTIONS_BYTES, _check_options)
        config = ElmoConfig.from_options(options)
        if addresses.is_url(weights):
            max_size = max_weights_size(sum(config.num_parameters().values()))
            weights = addresses.fetch_url(weights, WEIGHTS_FILE, max_size, hdf5.check_file)
        return config, weights
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "A model must be a name, a folder, a zip or tar file, an address, or a pair "
            f"(options, weights). Received: {short_repr(source)}"
        )
    source = os.fspath(source)
    if addresses.is_url(source):
        max_size = max_weights_size(MAX_PARAMETERS)
        source = addresses.fetch_url(source, "model.zip", max_size, _read_archive)
    elif addresses.is_hub_address(source):
        source = addresses.fetch_hub(source)
    if _is_preset(source):
        options, weights = names.fetch(source)
        return ElmoConfig.from_options(options), weights
    if os.path.isfile(source):
        return _read_archive(source)
    if os.path.isdir(source):
        return _read_folder(source)
    shown = shown_source(source)
    raise ValueError(
        f"There is no model {shown!r}. It must be a folder, a zip or tar file, an address "
        f"(https://..., hf://user/model) or one of the names: {', '.join(names.all_names())}. "
        f"Received: {shown!r}"
    )


def find_folder(source, with_softmax):
    """The folder of a language model, in which its softmax and its vocabulary may be, too.

    It is `None` for a model in a zip, and for one that is published without a softmax.
    `with_softmax` says whether to download the two.
    """
    if addresses.is_hub_address(source):
        return addresses.fetch_hub(source, with_softmax)
    if not isinstance(source, str | os.PathLike):
        return None
    source = os.fspath(source)
    if with_softmax and _is_preset(source):
        return names.fetch_checkpoint(source)
    return source if os.path.isdir(source) else None


def shown_source(source):
    """A path, a name or an address for messages and `repr`: an address without its secrets."""
    source = os.fspath(source)
    return shown_address(source) if "://" in source else source


def _is_preset(source):
    return source in names.all_names() and not os.path.exists(source)


def _check_options(path, where):
    ElmoConfig.from_options(read_options_file(path, where), where)


def _find_model_files(where, names):
    names = [name for name in names if not os.path.basename(name).startswith(".")]
    weights = [name for name in names if name.endswith((".hdf5", ".h5"))]
    weights = [name for name in weights if "softmax" not in os.path.basename(name)]
    options = [name for name in names if os.path.basename(name) == OPTIONS_FILE]
    options = sorted(options, key=lambda name: name.count("/"))[:1]
    if not options:
        options = [name for name in names if name.endswith(_ALLENNLP_OPTIONS)]
    if len(weights) != 1 or len(options) != 1:
        raise ValueError(
            f"{where} must hold {OPTIONS_FILE} and one *.hdf5 file. "
            f"Received: {join_names(names) or 'nothing'}. (One *{_ALLENNLP_OPTIONS} is taken too.) "
            "With other names, pass the pair (options, weights)."
        )
    return options[0], weights[0]


def _read_folder(path):
    """The config and the weights of a model in a folder."""
    files = _Folder(path)
    has_checkpoint = files.has("checkpoint") or tf_checkpoint.find_checkpoint(path)
    if has_checkpoint and OPTIONS_FILE in files.names:
        return ElmoConfig.from_options(files.shown(OPTIONS_FILE)), path
    if has_checkpoint and tf_checkpoint.is_module(path):
        return tf_checkpoint.read_config(path), path
    return _read_model(files)


def _read_model(files):
    """The config and the weights of a model in a `_Folder` or an `Archive`."""
    names = {posixpath.basename(name) for name in files.names}
    if OPTIONS_FILE not in names:
        for other in FORMATS:
            if other.is_model(names):
                return _read_other_format(files, other)
    options_file, weights = _find_model_files(files.where, files.names)
    where = files.shown(options_file)
    dictionary = posixpath.join(posixpath.dirname(options_file), DICTIONARY_FILE)
    options = parse_options(files.read(options_file, MAX_OPTIONS_BYTES), where)
    options = with_dictionary(options, lambda: files.read(dictionary, MAX_DICTIONARY_BYTES), where)
    config = ElmoConfig.from_options(options, where)
    return config, files.weights(weights, config)


def _read_other_format(files, other):
    names = [name for name in files.names if other.is_model([posixpath.basename(name)])]
    folder = posixpath.dirname(min(names, key=lambda name: name.count("/")))
    config = other.read_config(
        files.shown(folder) if folder else files.where,
        lambda name: files.has(posixpath.join(folder, name)),
        lambda name, limit: files.read(posixpath.join(folder, name), limit),
    )
    names = [posixpath.join(folder, name) for name in other.WEIGHT_FILES]
    return config, tuple(files.weights(name, config) for name in names)


class _Folder:
    """The files of a folder: the same methods as those of an `Archive`."""

    def __init__(self, path):
        self.where, self.names = path, os.listdir(path)

    def shown(self, name):
        return os.path.join(self.where, name)

    def has(self, name):
        return os.path.isfile(self.shown(name))

    def read(self, name, limit):
        return read_bounded(self.shown(name), limit)

    def weights(self, name, config):
        return self.shown(name)


def _read_archive(file, where=None):
    """The config and the weights in a zip or a tar file, which errors call `where`."""
    with open_archive(file, file if where is None else where) as files:
        if not any(name.endswith(".index") for name in files.names):
            return _read_model(files)
        # TensorFlow reads the files of a checkpoint from a disk alone.
        folder = files.extract()
        roots = [posixpath.split(name) for name in files.names]
        roots = [root for root, name in roots if name in (OPTIONS_FILE, "saved_model.pb")]
        root = min(roots or [""], key=lambda root: root.count("/"))
    config, weights = _read_folder(os.path.join(folder.name, root))
    return config, ExtractedPath(weights, folder)
