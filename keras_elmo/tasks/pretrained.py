"""Classifiers and taggers in folders: `task.json`, weights, and a model card.

A folder with `base` in its `task.json` holds the weights of the head alone: those of the `Elmo` are
those of the model with this name.
"""

import json
import os
import warnings
import zipfile

import keras

from keras_elmo import sources
from keras_elmo.checks import check_choice
from keras_elmo.files.atomic import making_folder, replacing_files
from keras_elmo.sources import addresses, names
from keras_elmo.sources.card import write_card

TASK_FILE = "task.json"
_SUFFIX = ".weights.h5"  # without which Keras writes and reads no weights
_WEIGHTS_FILE, _HEAD_FILE = f"task{_SUFFIX}", f"head{_SUFFIX}"
# The tasks in folders beside this file. saved_models/ has a model card of each.
PACKAGED = ("pos",)
_MAX_BYTES = 2**33  # of a *.keras file at an address


def find_task(source):
    """The path of a classifier or a tagger, or `None`; see `TaskModel.from_pretrained`."""
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else ""
    if path in PACKAGED and not os.path.exists(path):
        return os.path.join(os.path.dirname(os.path.abspath(__file__)), path)
    if addresses.is_url(path) and path.partition("#")[0].endswith(".keras"):
        return addresses.fetch_url(path, "task.keras", _MAX_BYTES, _check_zip)
    if addresses.is_hub_address(path):
        path = addresses.fetch_hub(path)
    is_folder = path and os.path.isfile(os.path.join(path, TASK_FILE))
    return path if is_folder or path.endswith(".keras") else None


def _check_zip(path, where):
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{where} must be a *.keras file. Received: another file")


def load_keras_model(path, *classes, compile=False):
    """Loads a model of one of some classes, from a *.keras file or a folder with `TASK_FILE`.

    With `compile`, the model of a file can be trained on.
    """
    is_folder = os.path.isdir(path)
    with open(os.path.join(path, TASK_FILE) if is_folder else path, "rb"):
        pass  # Python names what is missing.
    try:
        with warnings.catch_warnings():  # of models that were not trained
            warnings.filterwarnings("ignore", "Skipping variable loading for optimizer")
            if is_folder:
                model = _load_folder(path)
            else:
                model = keras.models.load_model(path, compile=compile)
        reason = None if isinstance(model, classes) else f"a file of a {type(model).__name__}"
    except Exception as error:  # Keras has many, of many lines
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    if reason:
        kind = "folder" if is_folder else "*.keras file"
        names = " or ".join(each.__name__ for each in classes)
        raise ValueError(
            f"{path} must be a {kind} with a model of the class {names}. Received: {reason}"
        )
    return model


def save_folder(model, folder):
    """See `TaskModel.save_pretrained`."""
    base = _base_of(model)
    part, name = (model, _WEIGHTS_FILE) if base is None else (model.head, _HEAD_FILE)
    paths = os.path.join(folder, TASK_FILE), os.path.join(folder, name)
    with making_folder(folder), replacing_files(*paths) as (task_file, weights_file):
        part.save_weights(f"{weights_file}{_SUFFIX}")
        os.replace(f"{weights_file}{_SUFFIX}", weights_file)
        with open(task_file, "w", encoding="utf-8") as file:
            json.dump({"base": base, "task": keras.saving.serialize_keras_object(model)}, file)
    write_card(folder, model, model.facts())


def _load_folder(folder):
    with open(os.path.join(folder, TASK_FILE), encoding="utf-8") as file:
        content = json.load(file)
    model, base = keras.saving.deserialize_keras_object(content["task"]), content["base"]
    if base is None:
        model.load_weights(os.path.join(folder, _WEIGHTS_FILE))
    else:
        check_choice(names.all_names(), base=base)  # and no path or address that a stranger wrote
        _, weights = sources.open_model(base)
        model.elmo.load_weights(weights)
        model.elmo.source = base
        model.head.load_weights(os.path.join(folder, _HEAD_FILE))
    return model


def _base_of(model):
    """The name of the model whose weights the `Elmo` of a task has, or `None`."""
    source = model.elmo.source
    if source not in names.all_names() or "elmo" in model.vector_names:  # whose mix may be trained
        return None
    same = model.elmo.copy()
    same.load_weights(sources.open_model(source)[1])
    pairs = zip(model.elmo.get_weights(), same.get_weights(), strict=True)
    return source if all((own == other).all() for own, other in pairs) else None
