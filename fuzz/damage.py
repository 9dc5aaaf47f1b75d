"""Damaged files: the result is an error that users understand, or what the whole files hold."""

import contextlib
import functools
import gzip
import json
import shutil
from traceback import format_exc
from typing import NamedTuple

import keras
import numpy as np
from checkpoints import write_checkpoint
from manylangs_models import write_model
from training.letters import CONFIG, WINDOWS, WORDS, make_model, values_of, write_letters

from fuzz.case import Finding, expect, made_once
from keras_elmo import BiLanguageModel, Elmo, export_tflite, read_embeddings
from keras_elmo.corpora import VectorDataset, embed_files
from keras_elmo.tflite import export as tflite
from keras_elmo.training import Corpus
from keras_elmo.training.checkpoints import BackupAndResume, checkpoint_names
from keras_elmo.weights.embedding_files import write_embeddings

_TEXTS = [" ".join(WORDS[k : k + k % 5]) for k in range(16)]
_HOSTILE = [None, -1, 0, 10**12, 1.5, float("nan"), "", "x", [], {}, True, [[[1]]], "../x"]


class Format(NamedTuple):
    """A kind of files."""

    make: object  # makes whole ones in a folder, always alike
    read: object  # gives a list of arrays and other values
    has_checksums: bool  # other values may not come (in floats of HDF5 nobody notices)
    pattern: str = "*"  # of the files that are damaged


@functools.cache
def _elmo():
    keras.utils.set_random_seed(1)
    return Elmo(CONFIG)


_language_model = functools.cache(make_model)


def _read_model(folder):
    elmo = Elmo.from_pretrained(folder)
    return [elmo.config, *elmo.get_weights()]


def _read_language_model(folder):
    bilm = BiLanguageModel.from_pretrained(folder)
    return [bilm.config, bilm.vocabulary.words, *bilm.get_weights()]


def _make_embeddings(name):
    return lambda folder: write_embeddings(folder / name, _elmo().embed(_TEXTS, "all"))


def _read_embeddings(folder):
    (path,) = folder.iterdir()
    with read_embeddings(path) as vectors:
        return list(vectors)


def _make_vectors(folder):
    path = folder.parent / "in.txt"
    path.write_text("\n".join(_TEXTS))
    embed_files(_elmo(), path, folder, shard_size=4)


def _read_vectors(folder):
    batches = sorted(VectorDataset(folder), key=lambda batch: int(batch["id"][0]))
    return [value for batch in batches for _, value in sorted(batch.items())]


def _make_gzip(folder):
    (folder / "text.gz").write_bytes(gzip.compress("\n".join(_TEXTS).encode(), mtime=0))


def _train(folder):
    path = folder.parent / "letters.txt"
    write_letters(path, np.random.default_rng(0), 40)
    model, steps = make_model(), {"epochs": 2, "steps_per_epoch": 1}
    history = model.fit(Corpus(path), **WINDOWS, **steps, callbacks=[BackupAndResume(folder)])
    return model, history.history


def _read_run(folder):
    if not checkpoint_names(folder / "checkpoints"):
        raise FileNotFoundError("the only checkpoint was removed or renamed")
    model, history = _train(folder)
    expect(not history, "a checkpoint, or an error", "a run that begins anew")
    return values_of(model)


FORMATS = {
    "model": Format(lambda folder: _elmo().save_pretrained(folder), _read_model, False),
    "language model": Format(
        lambda folder: _language_model().save_pretrained(folder), _read_language_model, False
    ),
    "manylangs legacy": Format(write_model, _read_model, False),
    "manylangs zip": Format(lambda folder: write_model(folder, form="zip"), _read_model, False),
    "original checkpoint": Format(
        lambda folder: write_checkpoint(folder / "run", _language_model()),
        lambda folder: _read_model(folder / "run"),
        False,
    ),
    "hdf5": Format(_make_embeddings("vectors.hdf5"), _read_embeddings, False),
    "npz": Format(_make_embeddings("vectors.npz"), _read_embeddings, True),
    "vectors": Format(_make_vectors, _read_vectors, True, pattern="*.parquet"),
    "gzip": Format(_make_gzip, lambda folder: list(Corpus(folder / "text.gz").sentences()), True),
    "run": Format(_train, _read_run, True),
    "tflite": Format(
        lambda folder: export_tflite(_elmo(), folder / "model.tflite"),
        lambda folder: [tflite.metadata(folder / "model.tflite")],
        False,
    ),
}


def run(seed, folder):
    rng = np.random.default_rng(seed)
    name = list(FORMATS)[rng.integers(len(FORMATS))]
    form = FORMATS[name]
    whole = made_once(folder, f"damage-{name.replace(' ', '-')}", form.make)
    damaged = folder / "damaged"
    shutil.copytree(whole, damaged)
    files = sorted(path for path in damaged.rglob(form.pattern) if path.is_file())
    what = f"{name}: {[damage(rng, files) for _ in range(rng.choice([1, 1, 2]))]}"
    try:
        values = form.read(damaged)
    except (ValueError, OSError):
        return
    except Exception:
        raise Finding(f"expected: another error after {what}\n{format_exc()}") from None
    if form.has_checksums:
        expected = form.read(whole)
        same = len(values) == len(expected) and all(map(_same, values, expected))
        expect(same, f"an error, or what the whole files hold, after {what}", "other values")


def _same(one, other):
    if not isinstance(one, np.ndarray):
        return one == other
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def damage(rng, files):
    """Damages one of some files, and says how."""
    path, other = (files[k] for k in rng.integers(len(files), size=2))
    data, others = (file.read_bytes() if file.exists() else b"" for file in (path, other))
    start = int(rng.integers(0, len(data) + 1))
    end = min(len(data), start + int(rng.integers(200)))
    flipped = bytearray(data)
    for k in rng.integers(len(data), size=rng.integers(1, 4)) if data else []:
        flipped[k] ^= 1 << rng.integers(8)
    ways = {
        "flipped bits": flipped,
        "cut": data[:start],
        "doubled": data[:end] + data[start:],
        "zeros": data[:start] + bytes(end - start) + data[end:],
        "inserted": data[:start] + rng.bytes(int(rng.integers(1, 20))) + data[start:],
        "empty": b"",
        f"that of {other.name}": others,
        "gone": None,
    }
    with contextlib.suppress(ValueError):  # not JSON
        ways.update([_hostile_json(rng, json.loads(data))])
    names = ["flipped bits", "flipped bits", *ways, list(ways)[-1]]
    way = names[rng.integers(len(names))]
    path.unlink(missing_ok=True)
    if ways[way] is not None:
        path.write_bytes(ways[way])
    return f"{path.name}: {way}, at {start} to {end}"


def _hostile_json(rng, root):
    """JSON with one value replaced by another one: where and by what, and its bytes."""
    value, where, parent, key = root, "", None, None
    while isinstance(value, dict | list) and value and (parent is None or rng.random() < 0.8):
        keys = list(value) if isinstance(value, dict) else range(len(value))
        parent, key = value, keys[rng.integers(len(keys))]
        value, where = value[key], f"{where}/{key}"
    hostile = _HOSTILE[rng.integers(len(_HOSTILE))]
    if parent is None:
        root = hostile
    else:
        parent[key] = hostile
    return f"{where} = {hostile!r}", json.dumps(root).encode()
