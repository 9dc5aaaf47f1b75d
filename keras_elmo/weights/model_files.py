"""A model's folder: `options.json` and `weights.hdf5`, and `dictionary.json` where it has one."""

import json
import os

from keras_elmo.files import making_folder, replacing_file
from keras_elmo.options_file import DICTIONARY_FILE
from keras_elmo.weights import hdf5, manylangs, tf_checkpoint

OPTIONS_FILE = "options.json"
WEIGHTS_FILE = "weights.hdf5"


def save_folder(folder, config, character_encoder, bilm):
    """Writes a model's folder, which `Elmo.from_pretrained` and the originals can read.

    Args:
        folder: path. The folder is made if it does not exist.
        config: an `ElmoConfig`.
        character_encoder: a built `CharCNNEmbedding`.
        bilm: a built `BiLM`.
    """
    with making_folder(folder):
        hdf5.save_weights(os.path.join(folder, WEIGHTS_FILE), character_encoder, bilm)
        options = config.to_options()
        if config.dictionary is not None:
            # In a file of its own: options stay short, so that people can read them.
            _save_json(folder, DICTIONARY_FILE, options["dictionary"])
            options["dictionary"] = DICTIONARY_FILE
        _save_json(folder, OPTIONS_FILE, options, indent=2)


def _save_json(folder, name, content, indent=None):
    with replacing_file(os.path.join(folder, name)) as path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=indent)
            file.write("\n")


def load_file(path, **parts):
    """Fills layers from a weight file, a checkpoint of the original trainer, or ELMoForManyLangs.

    Args:
        path: a path, a binary file object that holds a weight file, or `manylangs.WeightFiles`.
        **parts: the layers, see `hdf5.load_weights`.
    """
    if manylangs.find_weights(path) and not tf_checkpoint.find_checkpoint(path):
        return manylangs.load_weights(path, **parts)
    load = tf_checkpoint.load_weights if tf_checkpoint.find_checkpoint(path) else hdf5.load_weights
    load(path, **parts)


def is_keras_file(path):
    """Whether a path names a file of Keras's own weights, `*.weights.h5`."""
    return isinstance(path, str | os.PathLike) and os.fspath(path).endswith(".weights.h5")
