"""Classifiers and taggers in folders: `task.json`, weights, and a model card.

A folder with `base` in its `task.json` holds the weights of the head alone; the `Elmo` is the model
with this name. By digests, labels or a head beside other weights than their own are refused.
"""

import contextlib
import hashlib
import json
import os
import re
import zipfile

import keras

from keras_elmo import sources
from keras_elmo.checks import short_repr
from keras_elmo.files.atomic import locked_folder, making_folder, replacing_files, sha256_of
from keras_elmo.sources import names
from keras_elmo.sources.card import write_card
from keras_elmo.sources.models import TASK_FILE, Found
from keras_elmo.weights import hdf5
from keras_elmo.weights.model_files import write_json

_WEIGHTS_FILE, _HEAD_FILE = "task.weights.h5", "head.weights.h5"


def load_task(source, *classes, compile=False):
    """Loads a model of one of some classes; with `compile`, one of a file can be trained on."""
    found = sources.find(source)
    kinds = " or ".join(each.__name__ for each in classes)
    if not found.is_task:
        received = repr(found.shown)
        if found.folder and os.path.exists(found.shown):  # and may have the name of a task
            received = f"the folder {os.path.abspath(found.folder)}, without {TASK_FILE}"
        raise ValueError(
            "A classifier or a tagger must be a *.keras file, a folder of `save_pretrained`, an "
            "address (https://..., hf://...), or one of the names: "
            f"{', '.join(names.all_names(names.GROUPS[1]))}. To train one on an ELMo model, "
            f"call the class, {kinds}(model, labels), or `keras-elmo classify train` or "
            f"`keras-elmo tag train`. Received: {received}"
        )
    if found.folder is None:
        open(found.path, "rb").close()  # Python names what is missing.
    try:
        if found.folder is not None:
            model = _load_folder(found.folder)
        elif zipfile.is_zipfile(found.path):
            model = keras.models.load_model(found.path, compile=compile)
        else:
            raise ValueError("a file that is cut short, damaged, or of another kind")
        reason = None if isinstance(model, classes) else f"a {type(model).__name__}"
    except Exception as error:  # Keras has many, of many lines
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    if reason:
        raise ValueError(
            f"{found.shown} must hold a whole model of the class {kinds}. Received: {reason}"
        )
    return model


def save_folder(model, folder):
    base, base_digest = _base_of(model)
    part, name, other = model, _WEIGHTS_FILE, _HEAD_FILE
    if base is not None:
        part, name, other = model.head, _HEAD_FILE, _WEIGHTS_FILE
    content = {
        "base": base,
        "base_sha256": base_digest,
        "package": base and names.package_of(base),
        "task": json.loads(json.dumps(keras.saving.serialize_keras_object(model))),
    }
    paths = os.path.join(folder, TASK_FILE), os.path.join(folder, name)
    with making_folder(folder), locked_folder(folder):
        with replacing_files(*paths) as (task_file, weights_file):
            part.save_weights(weights_file)
            content["sha256"] = _digest(content, weights_file)
            write_json(task_file, content)
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(folder, other))  # of an earlier model
        write_card(folder, model)


def _digest(content, weights_file):
    """The SHA-256 of a task and of its file of weights."""
    text = json.dumps(content, sort_keys=True) + sha256_of(weights_file)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _load_folder(folder):
    with open(os.path.join(folder, TASK_FILE), encoding="utf-8") as file:
        content = json.load(file)
    base, digest = content["base"], content.pop("sha256", None)
    name = _WEIGHTS_FILE if base is None else _HEAD_FILE
    weights_file = os.path.join(folder, name)
    if digest is not None and digest != _digest(content, weights_file):
        raise ValueError(f"{TASK_FILE} and {name} of two saves, or changed since; save it again")
    # A stranger's file may name a model, and no path or address.
    base_folder = names.find_name(base) if isinstance(base, str) else None
    if base is not None and base_folder is None:
        package = content.get("package")
        is_name = isinstance(package, str) and re.fullmatch(r"[\w.-]{1,99}", package)
        how = f": pip install {package}" if is_name else ""
        raise ValueError(f"a task on the model {short_repr(base)}, which is not installed{how}")
    model = keras.saving.deserialize_keras_object(content["task"])
    if base is None:
        model.load_weights(weights_file)
        return model
    elmo, (_, weights) = model.elmo, Found(base_folder, base).open()
    elmo.load_weights(weights)
    elmo.source = base
    expected = content.get("base_sha256")
    if expected and expected != hdf5.digest_of(elmo.character_encoder, elmo.bilm):
        raise ValueError(f"a task on other weights than {base!r} has now; install its old version")
    model.head.load_weights(weights_file)
    return model


def _base_of(model):
    """The name of the model whose weights the `Elmo` of a task has, and their digest; or `None`."""
    elmo = model.elmo
    if "elmo" in model.vector_names or elmo.source not in names.all_names():
        return None, None  # The mix may be trained.
    _, weights = Found(names.find_name(elmo.source), elmo.source).open()
    if weights.kind is not hdf5:
        return None, None
    parts = elmo.character_encoder, elmo.bilm
    digest = hdf5.digest_of(*parts)
    is_same = digest == hdf5.file_digest(weights.files[0], weights.shown, *parts)
    return (elmo.source, digest) if is_same else (None, None)
