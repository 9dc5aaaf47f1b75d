"""A model's folder: `options.json` and `weights.hdf5`."""

import json
import os

from keras_elmo.files import making_folder, replacing_file
from keras_elmo.weights import hdf5, tf_checkpoint

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
        with replacing_file(os.path.join(folder, OPTIONS_FILE)) as path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(config.to_options(), file, indent=2)
                file.write("\n")


def load_file(path, **parts):
    """Fills layers from a weight file, or from a checkpoint of the original trainer.

    Args:
        path: a path, or a binary file object that holds a weight file.
        **parts: the layers, see `hdf5.load_weights`.
    """
    load = tf_checkpoint.load_weights if tf_checkpoint.find_checkpoint(path) else hdf5.load_weights
    load(path, **parts)


def is_keras_file(path):
    """Whether a path names a file of Keras's own weights, `*.weights.h5`."""
    return isinstance(path, str | os.PathLike) and os.fspath(path).endswith(".weights.h5")
