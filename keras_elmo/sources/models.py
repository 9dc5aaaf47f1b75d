"""`find`: from what names a model to its files, its config and its weights."""

import dataclasses
import os
import zipfile
from typing import Any

from keras_elmo.checks import join_names, short_repr
from keras_elmo.config import (
    MAX_OPTIONS_BYTES,
    MAX_PARAMETERS,
    OPTIONS_FILE,
    WEIGHTS_FILE,
    ElmoConfig,
    read_options_file,
)
from keras_elmo.manylangs import model as manylangs
from keras_elmo.sources import addresses, names
from keras_elmo.sources.archives import unpack
from keras_elmo.sources.download import max_weights_size, shown_address
from keras_elmo.sources.weight_files import WeightFiles
from keras_elmo.weights import hdf5, tf_checkpoint

TASK_FILE = "task.json"
_MAX_TASK_BYTES = 2**33  # of a *.keras file at an address
_ALLENNLP_OPTIONS = "_options.json"  # the end of the names that AllenNLP gives its options


def find(source, with_softmax=False):
    """The `Found` of what `Elmo.from_pretrained` takes, also where there is no model.

    What is at an address is downloaded, `with_softmax` with the softmax and the vocabulary.
    """
    if isinstance(source, Found):
        return source
    if isinstance(source, list | tuple) and len(source) == 2:
        paths = [part for part in source if isinstance(part, str | os.PathLike)]
        return Found(tuple(source), ",".join(map(shown_address, paths)))
    if not isinstance(source, str | os.PathLike):
        raise TypeError(
            "A model must be a name, a folder, a zip or tar file, an address, or a pair "
            f"(options, weights). Received: {short_repr(source)}"
        )
    path, shown, opened = os.fspath(source), shown_address(source), []
    if path.startswith(addresses.HUB):
        path = addresses.fetch_hub(path, with_softmax)
    elif addresses.is_url(path) and path.partition("#")[0].endswith(".keras"):
        path = addresses.fetch_url(path, "task.keras", _MAX_TASK_BYTES, _check_zip)
    elif addresses.is_url(path):
        max_size = max_weights_size(MAX_PARAMETERS)
        path = addresses.fetch_url(
            path, "model.zip", max_size, lambda *file: opened.append(_open_archive(*file))
        )
    elif not os.path.exists(path) and (folder := names.find_name(path)):
        is_checkpoint = with_softmax and path in names.PRESETS
        path = names.fetch(path, with_softmax) if is_checkpoint else folder
    return Found(path, shown, *opened)


def _check_zip(path, where):
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{where} must be a *.keras file. Received: another file")


@dataclasses.dataclass(frozen=True)
class Found:
    """Where a model or a task is: the path of a folder or a file, or a pair (options, weights).

    `shown` is what a person calls it. `opened` is what `open` gives, where it is known.
    """

    path: Any
    shown: str
    opened: Any = None

    @property
    def folder(self):
        """The path, if it is that of a folder; else `None`."""
        return self.path if isinstance(self.path, str) and os.path.isdir(self.path) else None

    @property
    def is_task(self):
        """Whether it is a classifier or a tagger."""
        if self.folder is None:
            return isinstance(self.path, str) and self.path.endswith(".keras")
        return os.path.isfile(os.path.join(self.folder, TASK_FILE))

    def open(self):
        """The `ElmoConfig` and the `WeightFiles` of the model."""
        if self.opened is not None:
            return self.opened
        if isinstance(self.path, tuple):
            return _open_pair(*self.path)
        if self.shown in names.PRESETS and self.path == names.cache_folder(self.shown):
            names.fetch(self.shown)
        if os.path.isfile(self.path):
            return _open_archive(self.path, self.shown)
        if self.folder is not None:
            return _open_folder(self.path, self.shown)
        raise ValueError(
            f"There is no model {self.shown!r}. It must be a folder, a zip or tar file, an address "
            f"(https://..., hf://user/model) or one of the names: {', '.join(names.all_names())}"
        )


def _open_pair(options, weights):
    if addresses.is_url(options):
        options = addresses.fetch_url(options, OPTIONS_FILE, MAX_OPTIONS_BYTES, _check_options)
    config, shown = ElmoConfig.from_options(options), None
    if addresses.is_url(weights):
        max_size, shown = max_weights_size(sum(config.num_parameters().values())), weights
        weights = addresses.fetch_url(weights, WEIGHTS_FILE, max_size, hdf5.check_file)
    return config, WeightFiles.find(weights, shown and shown_address(shown))


def _check_options(path, where):
    ElmoConfig.from_options(read_options_file(path, where), where)


def _open_archive(file, where):
    """The model in the folder of an archive that is the least deep."""
    unpacked = unpack(file, where)
    names = {folder: set(names) for folder, _, names in os.walk(unpacked.name)}
    roots = [folder for folder in names if names[folder] & {OPTIONS_FILE, "saved_model.pb"}]
    roots = roots or [folder for folder in names if _is_model(names[folder])] or [unpacked.name]
    root = min(roots, key=lambda folder: folder.count(os.sep))
    if root != unpacked.name:
        where = os.path.join(where, os.path.relpath(root, unpacked.name))
    return _open_folder(root, where, unpacked)


def _is_model(names):
    is_allennlp = any(name.endswith(_ALLENNLP_OPTIONS) and name[0] != "." for name in names)
    return is_allennlp or manylangs.is_model(names)


def _open_folder(path, where, unpacked=None):
    names, checkpoint = os.listdir(path), tf_checkpoint.find_weights(path)
    has_options = OPTIONS_FILE in names
    if not has_options and checkpoint and tf_checkpoint.is_module(checkpoint):
        config = tf_checkpoint.read_config(checkpoint, where)
    elif not has_options and manylangs.is_model(names):
        config = manylangs.read_config(path, where)
    else:
        options, weights = OPTIONS_FILE, None
        is_checkpoint = checkpoint or os.path.isfile(os.path.join(path, "checkpoint"))
        if not (has_options and is_checkpoint):
            options, weights = _find_model_files(where, names)
        shown = os.path.join(where, options)
        options = read_options_file(os.path.join(path, options), shown)
        config = ElmoConfig.from_options(options, shown)
        if weights is not None:
            path, where = os.path.join(path, weights), os.path.join(where, weights)
    weights = WeightFiles.find(path, where, unpacked)
    weights.check_options(config)
    return config, weights


def _find_model_files(where, names):
    names = [name for name in names if not name.startswith(".")]
    weights = [name for name in names if name.endswith((".hdf5", ".h5"))]
    weights = [name for name in weights if "softmax" not in name]
    options = [name for name in names if name == OPTIONS_FILE]
    options = options or [name for name in names if name.endswith(_ALLENNLP_OPTIONS)]
    if len(weights) != 1 or len(options) != 1:
        raise ValueError(
            f"{where} must hold {OPTIONS_FILE} and one *.hdf5 file. "
            f"Received: {join_names(names) or 'nothing'}. With other names than these or one "
            f"*{_ALLENNLP_OPTIONS}, pass the pair (options, weights)."
        )
    return options[0], weights[0]
