"""A model's folder: `options.json` and `weights.hdf5`, and `dictionary.json` where it has one."""

import json
import os
import re

from keras_elmo.config import (
    DICTIONARY_FILE,
    OPTIONS_FILE,
    SOFTMAX_FILE,
    VOCABULARY_FILE,
    WEIGHTS_FILE,
)
from keras_elmo.files.atomic import locked_folder, making_folder, replacing_files
from keras_elmo.weights import hdf5

# What the original calls them, as in vocab-2016-09-10.txt and elmo_2x..._softmax_weights.hdf5.
_ORIGINAL_NAMES = {VOCABULARY_FILE: r"vocab-.*\.txt", SOFTMAX_FILE: r"[^.].*_softmax_weights\.hdf5"}


def save_folder(folder, config, character_encoder, bilm, softmax=None, vocabulary=None):
    """Writes a model's folder. All files are written before the first of them takes its place.

    Each file of weights has the digest of what it belongs to: those of two saves are not one model.
    """
    options, names = config.to_options(), [WEIGHTS_FILE, OPTIONS_FILE]
    parts = {DICTIONARY_FILE: config.dictionary, VOCABULARY_FILE: vocabulary, SOFTMAX_FILE: softmax}
    names += [name for name, part in parts.items() if part is not None]
    paths = [os.path.join(folder, name) for name in names]
    with making_folder(folder), locked_folder(folder), replacing_files(*paths) as temporaries:
        temporary = dict(zip(names, temporaries, strict=True))
        digest = hdf5.write_weights(
            temporary[WEIGHTS_FILE], character_encoder, bilm, options=config.digest()
        )
        if softmax is not None:
            others = {"weights": digest, "vocabulary": vocabulary.digest()}
            hdf5.write_weights(temporary[SOFTMAX_FILE], softmax=softmax, **others)
        if vocabulary is not None:
            vocabulary.save(temporary[VOCABULARY_FILE])
        if config.dictionary is not None:
            # In a file of its own: options stay short, so that people can read them.
            write_json(temporary[DICTIONARY_FILE], options["dictionary"])
            options["dictionary"] = DICTIONARY_FILE
        write_json(temporary[OPTIONS_FILE], options, indent=2)


def find_file(folder, name):
    """The path of a folder's `VOCABULARY_FILE` or `SOFTMAX_FILE`, also of the original's form."""
    if folder is None:
        return None
    names = [other for other in os.listdir(folder) if re.fullmatch(_ORIGINAL_NAMES[name], other)]
    if os.path.isfile(os.path.join(folder, name)):
        names = [name]
    return os.path.join(folder, names[0]) if len(names) == 1 else None


def write_json(path, content, **options):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, **options)
        file.write("\n")
