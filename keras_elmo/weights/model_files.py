"""A model's folder: `options.json` and `weights.hdf5`, and `dictionary.json` where it has one."""

import json
import os

from keras_elmo.files import making_folder, replacing_files
from keras_elmo.options_file import DICTIONARY_FILE
from keras_elmo.weights import hdf5, manylangs, tf_checkpoint

OPTIONS_FILE = "options.json"
WEIGHTS_FILE = "weights.hdf5"
VOCABULARY_FILE = "vocab.txt"
SOFTMAX_FILE = "softmax.hdf5"
FILES = (OPTIONS_FILE, WEIGHTS_FILE, DICTIONARY_FILE, VOCABULARY_FILE, SOFTMAX_FILE)


def save_folder(folder, config, character_encoder, bilm, softmax=None, vocabulary=None):
    """Writes a model's folder, which `Elmo.from_pretrained` and the originals can read.

    All files are written before the first of them takes its place.

    Args:
        folder: path. The folder is made if it does not exist.
        config: an `ElmoConfig`.
        character_encoder: a built `CharCNNEmbedding`.
        bilm: a built `BiLM`.
        softmax: a built `Softmax`, or `None`. Its file says to which weights it belongs.
        vocabulary: a `Vocabulary`, or `None`.
    """
    options = config.to_options()
    names = [WEIGHTS_FILE, OPTIONS_FILE]
    if config.dictionary is not None:
        names.append(DICTIONARY_FILE)
    if vocabulary is not None:
        names.append(VOCABULARY_FILE)
    if softmax is not None:
        names.append(SOFTMAX_FILE)
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


def _write_json(path, content, indent=None):
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
