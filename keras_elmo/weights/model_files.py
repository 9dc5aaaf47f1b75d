"""A model's folder: `options.json` and `weights.hdf5`, and `dictionary.json` where it has one."""

import glob
import json
import os
import re

from keras_elmo.config import DICTIONARY_FILE, OPTIONS_FILE
from keras_elmo.files.atomic import making_folder, replacing_files
from keras_elmo.weights import hdf5, tf_checkpoint

WEIGHTS_FILE = "weights.hdf5"
VOCABULARY_FILE = "vocab.txt"
SOFTMAX_FILE = "softmax.hdf5"
# What the original calls them, as in vocab-2016-09-10.txt and elmo_2x..._softmax_weights.hdf5.
_ORIGINAL_NAMES = {VOCABULARY_FILE: r"vocab-.*\.txt", SOFTMAX_FILE: r"[^.].*_softmax_weights\.hdf5"}

# What else holds weights: modules like `keras_elmo.manylangs.model`, each with `WEIGHT_FILES`,
# `is_model`, `read_config`, `find_weights` and `load_weights`. A room adds its own when it is
# imported.
FORMATS = []

# A model is made, and every fault of its weights is named, if their files have at least this share
# of its bytes. A small model is made in any case.
_MIN_SHARE = 1 / 16
_SMALL_MODEL = 4 << 20  # bytes


def save_folder(folder, config, character_encoder, bilm, softmax=None, vocabulary=None):
    """Writes a model's folder. All files are written before the first of them takes its place."""
    options = config.to_options()
    optional = {
        DICTIONARY_FILE: config.dictionary,
        VOCABULARY_FILE: vocabulary,
        SOFTMAX_FILE: softmax,
    }
    names = [WEIGHTS_FILE, OPTIONS_FILE]
    names += [name for name, part in optional.items() if part is not None]
    paths = [os.path.join(folder, name) for name in names]
    with making_folder(folder), replacing_files(*paths) as temporaries:
        temporary = dict(zip(names, temporaries, strict=True))
        digest = hdf5.write_weights(temporary[WEIGHTS_FILE], character_encoder, bilm)
        if softmax is not None:
            hdf5.write_weights(temporary[SOFTMAX_FILE], softmax=softmax, companion=digest)
        if vocabulary is not None:
            vocabulary.save(temporary[VOCABULARY_FILE])
        if config.dictionary is not None:
            # In a file of its own: options stay short, so that people can read them.
            _write_json(temporary[DICTIONARY_FILE], options["dictionary"])
            options["dictionary"] = DICTIONARY_FILE
        _write_json(temporary[OPTIONS_FILE], options, indent=2)


def find_file(folder, name):
    """The path of a folder's `VOCABULARY_FILE` or `SOFTMAX_FILE`, or of the original's only one.

    It is `None` if there is no such file, or several have the original's form.
    """
    names = [other for other in os.listdir(folder) if re.fullmatch(_ORIGINAL_NAMES[name], other)]
    if os.path.isfile(os.path.join(folder, name)):
        names = [name]
    return os.path.join(folder, names[0]) if len(names) == 1 else None


def _write_json(path, content, indent=None):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=indent)
        file.write("\n")


def load_file(path, mixes=(), **parts):
    """Fills layers from a weight file, a checkpoint of the original trainer, or one of `FORMATS`.

    `path` may also be a file object of a weight file, or a tuple of the files of one of `FORMATS`.
    """
    if tf_checkpoint.find_checkpoint(path):
        tf_checkpoint.load_weights(path, mixes=mixes, **parts)
        return
    for other in FORMATS:
        if files := other.find_weights(path):
            other.load_weights(files, **parts)
            return
    hdf5.load_weights(path, **parts)


def weights_size(weights):
    """What the files that hold weights are called, and how many bytes they have."""
    if prefix := tf_checkpoint.find_checkpoint(weights):
        files = [f"{prefix}.index", *glob.glob(f"{glob.escape(prefix)}.data-*")]
        return "checkpoint", sum(map(os.path.getsize, files))
    for other in FORMATS:
        if files := other.find_weights(weights):
            return "weight files", sum(map(_size, files))
    if isinstance(weights, str | os.PathLike) and os.path.isdir(weights):
        raise ValueError(
            f"{weights} must hold the files of the checkpoint that it names. "
            "Received: a folder without them"
        )
    return "weight file", _size(weights)


def _size(file):
    if isinstance(file, str | os.PathLike):
        return os.path.getsize(file)
    return file.seek(0, os.SEEK_END)


def check_size(config, weights):
    """Raises a `ValueError` if weights have far too few bytes for a config.

    It is called before a model is made, which takes the memory that the config asks for.
    """
    expected, (_, size) = 4 * sum(config.num_parameters().values()), weights_size(weights)
    if expected > _SMALL_MODEL and size < _MIN_SHARE * expected:
        file = weights[-1] if isinstance(weights, tuple) else weights
        where = getattr(file, "name", file)
        raise ValueError(
            f"{where} must hold the weights of its options, {expected:,} bytes as float32. "
            f"Received: {size:,} bytes"
        )


def is_keras_file(path):
    return isinstance(path, str | os.PathLike) and os.fspath(path).endswith(".weights.h5")
