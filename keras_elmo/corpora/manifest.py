"""The manifest of a folder of vectors: what made the vectors, and which shards hold them."""

import hashlib
import json
import os

import h5py
import keras
import numpy as np
import tensorflow as tf

from keras_elmo._version import __version__
from keras_elmo.checks import is_integer, short_repr
from keras_elmo.corpora.inputs import TYPES
from keras_elmo.corpora.shards import DTYPES, pyarrow, shard_name
from keras_elmo.files.atomic import replacing_file
from keras_elmo.files.records import FORMATS

# Libraries that read whole folders leave out names that begin with an underscore.
MANIFEST = "_manifest.json"
_FORMAT = "keras_elmo.corpora"
_FORMAT_VERSION = 1
# The settings that determine the vectors. A run resumes only if all are equal.
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
# Those of runs on JSON Lines, CSV and TSV. Folders of text files do not have them.
_FIELD_SETTINGS = ("field", "keep", "input_format")
_MODEL_NAME = "source"  # of the model's properties the one that determines nothing


def read_manifest(folder):
    """Reads the manifest of a folder that `embed_files` wrote.

    The shards themselves are not read: `dataset` and `embed_files` compare them with the manifest.

    Args:
        folder: path.

    Returns:
        A dict. `"complete"` says whether the folder has the vectors of all sentences. If it has,
        `"shards"` has a dict for each file, in the order of the rows: `"file"`, `"first_id"`,
        `"rows"`, `"bytes"` and `"sha256"`. Else it is empty.

    Raises:
        FileNotFoundError: there is no manifest.
        ValueError: it is of another kind, or its entries do not fit together.
    """
    path = os.path.join(folder, MANIFEST)
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"{folder} must be a folder that `keras-elmo embed-corpus` wrote; there is "
            f"no file {MANIFEST} in it"
        )
    try:
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        json.dumps(manifest, ensure_ascii=False).encode()  # lone surrogates are not text
        is_ours = manifest["format"] == _FORMAT
        version = manifest["format_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{path} must be a manifest of keras_elmo. Received: another file")
    if not is_integer(version) or version != _FORMAT_VERSION:
        raise ValueError(
            f"{path} must have the format version {_FORMAT_VERSION}. "
            f"Received: {short_repr(version)}; use the version of keras_elmo that wrote it"
        )
    fault = _fault(manifest)
    if fault:
        raise ValueError(
            f"{path} must be a manifest as keras_elmo wrote it; remove the folder, and embed "
            f"again. Received: {fault}"
        )
    return manifest


def num_shards(manifest):
    """The number of shards; an input without lines has one, which holds the schema."""
    return max(1, -(-manifest["rows"] // manifest["shard_size"]))


def shard_rows(manifest, index):
    """The number of rows of a shard."""
    size = manifest["shard_size"]
    return min(size, manifest["rows"] - index * size)


def _fault(manifest):
    """What is wrong with the entries of a manifest, or `None`."""
    if missing := [name for name in _ENTRIES if name not in manifest]:
        return f"one without {', '.join(missing)}"
    for name, is_right in (_ENTRIES | _FIELD_ENTRIES).items():
        if name in manifest and not is_right(manifest[name]):
            return f"{name} {short_repr(manifest[name])}"
    if manifest["rows"] != sum(file["rows"] for file in manifest["inputs"]):
        return f"{manifest['rows']:,} rows, which are not those of the inputs"
    count = num_shards(manifest) if manifest["complete"] else 0
    if len(manifest["shards"]) != count:
        return f"{len(manifest['shards']):,} shards in the place of {count:,}"
    for index, shard in enumerate(manifest["shards"]):
        if not _is_shard(shard) or not place_of_shard(manifest, index).items() <= shard.items():
            return f"for shard {index:,} the entry {short_repr(shard)}"
    return None


def place_of_shard(manifest, index):
    """The entries of a shard in the manifest that its index determines: a dict."""
    return {
        "file": shard_name(index, num_shards(manifest)),
        "first_id": index * manifest["shard_size"],
        "rows": shard_rows(manifest, index),
    }


def _is_count(value, minimum=0):
    return is_integer(value) and minimum <= value < 2**63


def _is_text(value):
    return isinstance(value, str)


def _is_hash(value):
    return isinstance(value, str) and len(value) == 64 and value.isalnum() and value.isascii()


def _is_dict(value, **entries):
    """Whether a value is a dict in which each of the entries is right."""
    return isinstance(value, dict) and all(
        name in value and is_right(value[name]) for name, is_right in entries.items()
    )


def _is_list_of(is_right, value):
    return isinstance(value, list) and len(value) > 0 and all(map(is_right, value))


def _is_model(value):
    return _is_dict(value, source=_is_text, sha256=_is_text) and all(
        item is None or isinstance(item, str | bool | int) for item in value.values()
    )


def _is_input(value):
    return _is_dict(value, file=_is_text, bytes=_is_count, sha256=_is_text, rows=_is_count)


def _is_shard(value):
    return _is_dict(
        value, file=_is_text, first_id=_is_count, rows=_is_count, bytes=_is_count, sha256=_is_hash
    )


# What each entry of a manifest must be.
_ENTRIES = {
    "model": _is_model,
    "layers": lambda value: (
        isinstance(value, dict)
        and len(value) > 0
        and all(_is_count(size, 1) for size in value.values())
    ),
    "dtype": lambda value: value in DTYPES,
    "pooled": lambda value: isinstance(value, bool),
    "shard_size": lambda value: _is_count(value, 1),
    "token_budget": lambda value: value is None or _is_count(value, 1),
    "encoding": _is_text,
    "errors": lambda value: value in ("strict", "replace"),
    "inputs": lambda value: _is_list_of(_is_input, value),
    "rows": _is_count,
    "versions": lambda value: _is_list_of(_is_dict, value),
    "complete": lambda value: isinstance(value, bool),
    "shards": lambda value: isinstance(value, list),
}


_FIELD_ENTRIES = {
    "field": _is_text,
    "keep": lambda value: isinstance(value, dict) and all(kind in TYPES for kind in value.values()),
    "input_format": lambda value: value in (None, *FORMATS),
}


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
        **settings: the other arguments of the run, which determine the vectors.
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
    """The properties of a model that determine its vectors: a dict for the manifest."""
    digest = hashlib.sha256(json.dumps(elmo.config.to_options(), sort_keys=True).encode())
    for variable in elmo.weights:
        array = np.ascontiguousarray(keras.ops.convert_to_numpy(variable))
        digest.update(f"{array.dtype} {array.shape}".encode())
        digest.update(array.view(np.uint8).data if array.ndim else array.tobytes())
    return {
        "source": str(elmo.source),
        "sha256": digest.hexdigest(),
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
    return {
        "keras_elmo": __version__,
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "numpy": np.__version__,
        "h5py": h5py.__version__,
        "pyarrow": pyarrow.__version__,
    }


def fingerprint(manifest):
    """A hash of the settings that determine the vectors. The shards have it, too."""
    settings = {name: manifest[name] for name in _SETTINGS + _FIELD_SETTINGS if name in manifest}
    settings["model"] = {k: v for k, v in manifest["model"].items() if k != _MODEL_NAME}
    settings["layers"] = list(manifest["layers"].items())  # in the order of the columns
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def differences(old, new):
    """The settings that differ and determine the vectors, as phrases for an error message."""
    found = []
    for name in _SETTINGS + _FIELD_SETTINGS:
        if name == "inputs":
            found += _input_differences(old[name], new[name])
        elif name == "model":
            found += [
                f"{'model' if key == 'sha256' else key} {_of_model(old, key)} there and "
                f"{_of_model(new, key)} now"
                for key in new[name]
                if key != _MODEL_NAME and old[name].get(key) != new[name][key]
            ]
        elif name == "layers":
            before, now = ", ".join(old[name]), ", ".join(new[name])
            if before != now:
                found.append(f"layers {before} there and {now} now")
        elif old.get(name) != new.get(name):
            found.append(f"{name} {old.get(name)} there and {new.get(name)} now")
    return found


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
