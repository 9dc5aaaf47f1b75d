"""`embed_files`: text files to a folder of vectors, in a run that can be stopped at any time."""

import collections
import itertools
import os
import re
from typing import NamedTuple

from keras_elmo import sources
from keras_elmo.checks import check_choice, check_counts, check_library
from keras_elmo.corpora import shards
from keras_elmo.corpora.manifest import (
    MANIFEST,
    differences,
    new_manifest,
    read_manifest,
    versions,
    write_manifest,
)
from keras_elmo.files.atomic import PART, locked_folder, making_folder
from keras_elmo.files.records import Fields, InputChanged, Records
from keras_elmo.files.text_files import find_files
from keras_elmo.models import Elmo
from keras_elmo.models.embed_stream import embed_tokens, sentence_mean
from keras_elmo.process.signals import noting_signals
from keras_elmo.text.reading import read_tokens

# Sentences of a shard: a killed run loses one shard, and libraries read a shard at once. A pooled
# sentence is one vector for each layer, others have one for each token and layer.
SHARD_SIZE = 1024
POOLED_SHARD_SIZE = 16384


class Progress(NamedTuple):
    """How far a run is."""

    rows: int  # the sentences that have vectors, also those of earlier runs
    total_rows: int
    shards: int  # that are in the folder
    total_shards: int
    new_rows: int = 0  # the sentences of this run that have vectors


def embed_files(
    model,
    inputs,
    folder,
    layers="all",
    pooled=False,
    dtype="float32",
    shard_size=None,
    token_budget=None,
    encoding="utf-8",
    errors="strict",
    overwrite=False,
    on_progress=None,
    field=None,
    keep=(),
    format=None,
    check=False,
    **kwargs,
):
    """Embeds the lines of text files, and writes a folder of Parquet files.

    The rows are the lines of all files in their order. Their columns: `id` (int64, from 0), `file`,
    `text`, `tokens`, and a column for each chosen layer: a list of vectors, one for each token, or
    one vector if they are pooled. Vectors are fixed-size lists.

    With `field` the files are JSON Lines, CSV or TSV, and the rows are their records. A text that
    is a list of tokens in JSON Lines is not split; `text` has spaces between them. `kept_NAME` is
    the column of a field that is kept: of strings, int64, float64 or bool if all values in JSON
    Lines are such (or null), else of strings that hold JSON. Those of CSV and TSV are strings.

    A file appears when it is whole, and then `_manifest.json` records its size and its SHA-256. So
    the process may be killed at any time, and the same call resumes with the first file that is not
    recorded. It writes the same bytes as a run that was not stopped, on the same machine with the
    same versions. The manifest says what made the vectors, and `"complete": true` when all files
    are there. A call with another model, input or option changes nothing and raises an error.

    Args:
        model: an `Elmo` without `keep_sentence_boundaries`, or what `Elmo.from_pretrained` takes.
            Such a model is loaded after the checks of the arguments and of the input.
        inputs: path of a text file, one sentence a line, or a list of paths and patterns such as
            `"corpus/*.txt"`. `*.gz` is decompressed.
        folder: the folder to write. It must not exist, be empty, or be that of an earlier call.
        layers: what `Elmo.embed` takes, without `"default"`. `"all"` is a column for each layer:
            `layer_0`, `layer_1`, ...
        pooled: bool. The mean of each layer over the tokens of a sentence (zeros if it has none),
            instead of one vector for each token.
        dtype: `"float32"` or `"float16"`, of the vectors in the files.
        shard_size: int. Sentences of a file. `None`: 1,024, or 16,384 if they are pooled.
        token_budget: int or `None`, see `Elmo.embed`.
        encoding, errors: of the text files. `errors` is `"strict"` or `"replace"`: what to do with
            bytes that cannot be decoded.
        overwrite: bool. Remove the vectors of an earlier call, and begin anew.
        on_progress: function that is called with a `Progress`, from time to time.
        field: str. The field or column that is the text. `None`: each line is a text.
        keep: list of strings. The fields or columns that are stored, too.
        format: `"text"`, `"jsonl"`, `"csv"` or `"tsv"`. `None`: by the names of the files.
        check: bool. Compare the SHA-256 of the files that are there, and not only their sizes.
        **kwargs: the other arguments of `Elmo.from_pretrained`.

    Returns:
        The manifest, a dict, as `read_manifest` gives it.

    Raises:
        ImportError: pyarrow is not installed.
        ValueError: an argument is not as said above; the folder holds something else, or a file of
            another size (with `check`: of other bytes) than was written; or a text file cannot be
            decoded, lacks a field, or changes while it is read.
        OSError: a file cannot be read or written, or another process writes into the folder.
        Interrupted: SIGINT or SIGTERM came. What is whole is kept.

    Example:

    >>> manifest = embed_files("tiny", "corpus/*.txt", "vectors", ["elmo", -1])
    >>> manifest["rows"], list(manifest["layers"])
    (100000, ["elmo", "layer_2"])
    """
    check_library("pyarrow.parquet", "pyarrow", "corpora")
    check_choice(shards.DTYPES, dtype=dtype)
    check_counts(shard_size=shard_size, token_budget=token_budget)
    if shard_size is None:
        shard_size = POOLED_SHARD_SIZE if pooled else SHARD_SIZE
    check_choice(("strict", "replace"), errors=errors)
    folder = os.fspath(folder)
    _earlier_manifest(folder)
    records = Records(find_files(inputs), encoding, errors, Fields(field, keep, format))
    for path in records.paths:
        if path != path.encode("utf-8", "replace").decode("utf-8"):
            raise ValueError(f"The names of files must be UTF-8. Received: {ascii(path)}")
    config, num_mixes, load = _opened(model, kwargs)
    columns = shards.vector_columns(config, layers, num_mixes)
    kept = shards.column_types(records)  # the first reading, which checks and counts
    elmo = load()
    if elmo.keep_sentence_boundaries:
        raise ValueError(
            "`model` must be a model without sentence boundaries in its outputs. "
            "Received: a model with keep_sentence_boundaries=True"
        )
    manifest = new_manifest(
        elmo,
        columns,
        records.files,
        dtype=dtype,
        pooled=bool(pooled),
        shard_size=int(shard_size),
        token_budget=None if token_budget is None else int(token_budget),
        encoding=encoding,
        errors=errors,
        field=field,
        keep=kept,
        input_format=format,
    )
    with noting_signals(), making_folder(folder), locked_folder(folder):
        manifest |= _begin(folder, manifest, overwrite)
        return _Run(elmo, columns, records, folder, manifest, on_progress, check).finish()


def _opened(model, kwargs):
    """The config of a model, the number of its mixes, and a function that gives the `Elmo`."""
    if isinstance(model, Elmo):
        if kwargs:
            raise TypeError(
                "Beside an `Elmo` there must be no arguments of `Elmo.from_pretrained`. "
                f"Received: {', '.join(kwargs)}"
            )
        return model.config, model.num_mixes, lambda: model
    found = sources.find(model)
    files, num_mixes = found.open(), kwargs.get("num_mixes", 1)
    return files[0], num_mixes, lambda: Elmo.from_files(*files, source=found.shown, **kwargs)


def _earlier_manifest(folder):
    """The manifest of a folder, or `None` if it is empty or does not exist."""
    if not os.path.exists(os.path.join(folder, MANIFEST)):
        names = os.listdir(folder) if os.path.exists(folder) else []
        if others := sorted(name for name in names if not name.startswith(PART)):
            raise ValueError(
                f"{folder} must be an empty folder, or hold vectors of an earlier run. Received: a "
                f"folder with {others[0]} and without {MANIFEST}"
            )
        return None
    return read_manifest(folder)


def _begin(folder, manifest, overwrite):
    """Removes shards that no manifest records, or that are overwritten. A refusal changes nothing.

    Returns a dict with the versions and the shards of an earlier run that is resumed.
    """
    old = _earlier_manifest(folder)
    if old is None or overwrite:
        write_manifest(folder, manifest)
        old = manifest
    elif found := differences(old, manifest):
        raise ValueError(
            f"{folder} must hold vectors of the same run; nothing was changed. Received: "
            f"{'; '.join(found)}. Name another folder, or replace the vectors with `overwrite`"
        )
    recorded = {shard["file"] for shard in old["shards"]}
    for name in os.listdir(folder):
        if re.fullmatch(shards.SHARD_NAME, name) and name not in recorded:
            os.remove(os.path.join(folder, name))
    return {name: old[name] for name in ("versions", "shards")}


class _Run:
    """Writes the shards that are missing, one after the other."""

    def __init__(self, elmo, columns, records, folder, manifest, on_progress, with_digest):
        self._elmo, self._columns, self._records = elmo, columns, records
        self._folder, self._manifest = folder, manifest
        self._on_progress = on_progress or (lambda progress: None)
        self._schema = shards.make_schema(
            columns, manifest["dtype"], manifest["pooled"], manifest["keep"]
        )
        # An input without lines has one shard, which holds the schema.
        self._num_shards = max(1, -(-manifest["rows"] // manifest["shard_size"]))
        self._done = {}  # by its name, the entry of each shard that is there
        for shard in manifest["shards"]:
            if os.path.exists(os.path.join(folder, shard["file"])):
                shards.check_shard(folder, shard, with_digest)
                self._done[shard["file"]] = shard
        rows = sum(shard["rows"] for shard in self._done.values())
        self._progress = Progress(rows, manifest["rows"], len(self._done), self._num_shards)

    def finish(self):
        """Writes the missing shards and the manifest, which it returns."""
        self._on_progress(self._progress)
        earlier = dict(self._done)
        if len(earlier) < self._num_shards:
            if versions() not in self._manifest["versions"]:
                self._manifest["versions"].append(versions())
            try:
                self._write_shards()
            except InputChanged:
                self._done = earlier  # The new shards may hold lines of another text.
                self._write_manifest(is_complete=False)
                raise
        self._write_manifest(is_complete=True)
        return self._manifest

    def _write_manifest(self, is_complete):
        entries = sorted(self._done.values(), key=lambda shard: shard["first_id"])
        self._manifest |= {"complete": is_complete, "shards": entries}
        write_manifest(self._folder, self._manifest)

    def _write_shards(self):
        self._write_manifest(is_complete=False)
        found, size = self._records.read(), self._manifest["shard_size"]
        for index in range(self._num_shards):
            pairs = list(itertools.islice(found, size))
            name = f"shard-{index:05}-of-{self._num_shards:05}.parquet"
            if name in self._done:
                continue
            entry = {"file": name, "first_id": index * size, "rows": len(pairs)}
            rows = self._embed(entry["first_id"], pairs)
            tables = (
                shards.make_table(group, self._schema, self._manifest["dtype"])
                for group in shards.row_groups(rows)
            )
            path = os.path.join(self._folder, name)
            self._done[name] = entry | shards.write_shard(path, self._schema, tables)
            self._write_manifest(is_complete=False)
            self._advance(num_shards=1)
        collections.deque(found, maxlen=0)  # A file that has changed is found at its end.

    def _embed(self, first_id, pairs):
        """The rows of a shard, as `make_table` takes them."""
        texts = (record.text for _, record in pairs)
        sentences = list(read_tokens(texts, self._elmo.tokenizer, self._elmo.max_tokens))
        choices = [column.choice for column in self._columns]
        budget, types = self._manifest["token_budget"], self._manifest["keep"].values()
        results = embed_tokens(self._elmo, sentences, choices, budget, self._advance)
        numbered = enumerate(zip(pairs, sentences, results, strict=True), first_id)
        for index, ((path, record), tokens, result) in numbered:
            arrays = [result[choice] for choice in choices]
            if self._manifest["pooled"]:
                arrays = [sentence_mean(array) for array in arrays]
            yield index, path, record.line, *map(shards.as_type, record.kept, types), tokens, arrays

    def _advance(self, rows=0, num_shards=0):
        before = self._progress
        self._progress = before._replace(
            rows=before.rows + rows,
            shards=before.shards + num_shards,
            new_rows=before.new_rows + rows,
        )
        self._on_progress(self._progress)
