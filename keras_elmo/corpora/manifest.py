"""The manifest of a folder of vectors: what made the vectors, and which shards hold them."""

import json
import os
import re

import keras
import numpy as np
import tensorflow as tf

from keras_elmo._version import __version__
from keras_elmo.checks import short_repr
from keras_elmo.corpora.shards import SHARD_NAME, pyarrow
from keras_elmo.files.atomic import replacing_file
from keras_elmo.weights.hdf5 import digest_of_arrays
from keras_elmo.weights.model_files import write_json

# Libraries that read whole folders leave out names that begin with an underscore.
MANIFEST = "_manifest.json"
_VERSION_KEY, _FORMAT_VERSION = "keras_elmo.corpora", 1
# The entries that are not compared as they are; the others are arguments of the run.
_NOT_COMPARED = ("model", "layers", "inputs", "rows", "versions", "complete", "shards")

# What is read of a manifest. A list has any number of such items.
_SHARD = {"file": str, "first_id": int, "rows": int, "bytes": int, "sha256": str}
_FORM = {
    "model": dict,
    "layers": dict,
    "dtype": str,
    "pooled": bool,
    "shard_size": int,
    "keep": dict,
    "inputs": [{"file": str, "bytes": int, "sha256": str, "rows": int}],
    "rows": int,
    "versions": [dict],
    "complete": bool,
    "shards": [_SHARD],
}


def read_manifest(folder):
    """Reads the manifest of a folder, a path, that `embed_files` wrote.

    Returns:
        A dict. `"shards"` has a dict for each file that is written, in the order of the rows:
        `"file"`, `"first_id"`, `"rows"`, `"bytes"` and `"sha256"`. `"complete"` says whether these
        are all.

    Raises:
        FileNotFoundError: there is no manifest.
        ValueError: it is another kind of file, of another version, or is damaged.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        version = manifest[_VERSION_KEY]
    except (ValueError, TypeError, KeyError):
        version = "another file"
    if version != _FORMAT_VERSION:
        raise ValueError(
            f"{path} must be a manifest of keras_elmo with the format version {_FORMAT_VERSION}. "
            f"Received: {short_repr(version)}"
        )
    wrong = [name for name, form in _FORM.items() if not _has_form(manifest.get(name), form)]
    if not wrong and all(re.fullmatch(SHARD_NAME, shard["file"]) for shard in manifest["shards"]):
        return manifest
    raise ValueError(
        f"{path} must hold what `embed_files` writes; begin the run anew in another folder. "
        f"Received: another value of {', '.join(wrong) or 'the file of a shard'}"
    )


def _has_form(value, form):
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(item, form[0]) for item in value)
    if isinstance(form, dict):
        return isinstance(value, dict) and all(_has_form(value.get(k), form[k]) for k in form)
    return isinstance(value, form)


def write_manifest(folder, manifest):
    with replacing_file(os.path.join(folder, MANIFEST)) as temporary:
        write_json(temporary, manifest, indent=1, ensure_ascii=False)


def new_manifest(elmo, columns, files, **settings):
    """The manifest of a run that begins, whose other arguments are `settings`."""
    return {
        _VERSION_KEY: _FORMAT_VERSION,
        "model": describe_model(elmo),
        "layers": {column.name: column.size for column in columns},
        **settings,
        "inputs": files,
        "rows": sum(file["rows"] for file in files),
        "versions": [versions()],
        "complete": False,
        "shards": [],
    }


def describe_model(elmo):
    """The properties of a model that determine its vectors."""
    return {
        "source": str(elmo.source),
        "options": elmo.config.digest(),
        "sha256": digest_of_arrays(map(keras.ops.convert_to_numpy, elmo.weights)),
        "tokenizer": _describe_tokenizer(elmo.tokenizer),
        "dtype": elmo.dtype_policy.name,
        "matmul_dtype": elmo.matmul_dtype,
        "max_tokens": elmo.max_tokens,
        "do_layer_norm": elmo.do_layer_norm,
    }


def _describe_tokenizer(tokenizer):
    """The name of a tokenizer and its settings, without `ops`, which changes no token."""
    if tokenizer is None:
        return None
    config = getattr(tokenizer, "get_config", dict)()
    settings = [f"{name}={value!r}" for name, value in sorted(config.items()) if name != "ops"]
    return type(tokenizer).__name__ + (f"({', '.join(settings)})" if settings else "")


def versions():
    """The versions of what computes and writes the vectors."""
    libraries = {"tensorflow": tf, "keras": keras, "numpy": np, "pyarrow": pyarrow}
    found = {name: library.__version__ for name, library in libraries.items()}
    return {"keras_elmo": __version__, **found}


def differences(old, new):
    """What differs between the manifests of two runs: phrases for an error message."""
    before, now = _settings_of(old), _settings_of(new)
    found = [
        f"{name} {short_repr(before[name])} there and {short_repr(value)} now"
        for name, value in now.items()
        if before[name] != value
    ]
    if before["inputs"] == now["inputs"]:
        found += [
            f"{a['file']} has changed since ({a['bytes']:,} bytes there and {b['bytes']:,} now)"
            for a, b in zip(old["inputs"], new["inputs"], strict=True)
            if a["sha256"] != b["sha256"]
        ]
    return found


def _settings_of(manifest):
    """What determines the vectors, beside the contents of the inputs."""
    model = manifest["model"]
    return {
        **{name: value for name, value in manifest.items() if name not in _NOT_COMPARED},
        "layers": list(manifest["layers"]),
        "inputs": [file["file"] for file in manifest["inputs"]],
        **{f"model {name}": value for name, value in model.items() if name != "source"},
    }
