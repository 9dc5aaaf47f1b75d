"""The manifest of a folder of vectors: what made it, and what is in it."""

import hashlib
import json
import os

import h5py
import keras
import numpy as np
import tensorflow as tf

from keras_elmo._version import __version__
from keras_elmo.checks import shown
from keras_elmo.features.arrow import pyarrow
from keras_elmo.files import replacing_file

# Libraries that read whole folders leave out names that begin with an underscore.
MANIFEST = "_manifest.json"
_FORMAT = "keras_elmo.features"
_FORMAT_VERSION = 1
# What decides the vectors. A run goes on only where all of it is the same.
_SETTINGS = (
    "format_version",
    "model",
    "layers",
    "dtype",
    "pooled",
    "shard_size",
    "token_budget",
    "encoding",
    "errors",
    "inputs",
)
# Where the model was read from decides nothing.
_NAMES_ALONE = ("source",)


def read_manifest(folder):
    """Reads the manifest of a folder that `embed_files` wrote.

    Args:
        folder: path.

    Returns:
        A dict. `"complete"` says whether all shards are there.

    Raises:
        FileNotFoundError: there is no manifest.
        ValueError: it is of another kind.
    """
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{folder} must be a folder that `keras-elmo embed --format parquet` wrote; there is "
            f"no file {MANIFEST} in it"
        )
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        is_ours = manifest["format"] == _FORMAT
        version = manifest["format_version"]
    except (ValueError, TypeError, KeyError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{path} must be a manifest of keras_elmo. Received: another file")
    if version != _FORMAT_VERSION:
        raise ValueError(
            f"{path} must have the format version {_FORMAT_VERSION}. "
            f"Received: {shown(version)}; use the version of keras_elmo that wrote it"
        )
    missing = [name for name in (*_SETTINGS, "rows", "complete", "shards") if name not in manifest]
    if missing:
        raise ValueError(f"{path} must be a whole manifest. Received: one without {missing}")
    return manifest


def write_manifest(folder, manifest):
    """Writes the manifest of a folder. The file appears whole, or not at all."""
    with replacing_file(os.path.join(folder, MANIFEST)) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            json.dump(manifest, file, indent=1, ensure_ascii=False)
            file.write("\n")


def new_manifest(elmo, columns, files, **settings):
    """The manifest of a run that begins.

    Args:
        elmo: the `Elmo`.
        columns: list of `VectorColumn`s.
        files: list of `InputFile`s.
        **settings: the other arguments of the run that decide the vectors.
    """
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "model": describe_model(elmo),
        "layers": {column.name: column.size for column in columns},
        **settings,
        "inputs": [file._asdict() for file in files],
        "rows": sum(file.rows for file in files),
        "versions": [versions()],
        "complete": False,
        "shards": [],
    }


def describe_model(elmo):
    """What of a model decides its vectors: a dict for the manifest."""
    digest = hashlib.sha256(json.dumps(elmo.config.to_options(), sort_keys=True).encode())
    for variable in elmo.weights:
        array = np.ascontiguousarray(keras.ops.convert_to_numpy(variable))
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.view(np.uint8).data if array.ndim else array.tobytes())
    return {
        "source": str(elmo._source),
        "sha256": digest.hexdigest(),
        "tokenizer": _describe_tokenizer(elmo.tokenizer),
        "dtype": elmo.dtype_policy.name,
        "max_tokens": elmo.max_tokens,
        "do_layer_norm": elmo.do_layer_norm,
    }


def _describe_tokenizer(tokenizer):
    """Its name, with its settings where there are any. Both kinds of `ops` give the same tokens."""
    if tokenizer is None:
        return None
    config = getattr(tokenizer, "get_config", dict)()
    settings = [f"{name}={value!r}" for name, value in sorted(config.items()) if name != "ops"]
    return type(tokenizer).__name__ + (f"({', '.join(settings)})" if settings else "")


def versions():
    """The versions of what computes and writes the vectors."""
    return {
        "keras_elmo": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
        "h5py": h5py.__version__,
        "pyarrow": pyarrow.__version__,
    }


def fingerprint(manifest):
    """A hash of what decides the vectors. The shards have it, too."""
    settings = {name: _without_names(manifest[name]) for name in _SETTINGS}
    settings["layers"] = _in_order(manifest["layers"])  # as the columns are
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def differences(old, new):
    """What of two manifests decides the vectors and differs, as phrases for an error message."""
    found = []
    for name in _SETTINGS:
        if name == "inputs":
            found += _input_differences(old[name], new[name])
        elif name == "model":
            found += [
                f"{'model' if key == 'sha256' else key} {_of_model(old, key)} there and "
                f"{_of_model(new, key)} now"
                for key in new[name]
                if key not in _NAMES_ALONE and old[name].get(key) != new[name][key]
            ]
        elif _in_order(old[name]) != _in_order(new[name]):
            both = [", ".join(x) if isinstance(x, dict) else x for x in (old[name], new[name])]
            if both[0] == both[1]:
                both = old[name], new[name]
            found.append(f"{name} {both[0]} there and {both[1]} now")
    return found


def _in_order(value):
    return list(value.items()) if isinstance(value, dict) else value


def _of_model(manifest, key):
    model = manifest["model"]
    return f"{model['source']} ({model[key][:8]})" if key == "sha256" else model.get(key)


def _input_differences(old, new):
    before = [file["file"] for file in old]
    now = [file["file"] for file in new]
    if before != now:
        return [f"inputs {_few(before)} there and {_few(now)} now"]
    return [
        f"{a['file']} has changed since ({a['bytes']:,} bytes there and {b['bytes']:,} now)"
        for a, b in zip(old, new, strict=True)
        if a["sha256"] != b["sha256"]
    ]


def _few(names):
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")


def _without_names(value):
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if key not in _NAMES_ALONE}
    return value
