"""`embed_files`: text files to a folder of vectors, in a run that can be stopped at any time."""

import collections
import contextlib
import itertools
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from keras_elmo.checks import check_integers
from keras_elmo.corpora import shards
from keras_elmo.corpora.inputs import read_files, scan_files
from keras_elmo.corpora.manifest import (
    MANIFEST,
    differences,
    fingerprint,
    new_manifest,
    num_shards,
    place_of_shard,
    read_manifest,
    shard_rows,
    versions,
    write_manifest,
)
from keras_elmo.files.atomic import locked_folder, making_folder, sha256_of
from keras_elmo.files.records import Fields
from keras_elmo.files.text_files import find_files
from keras_elmo.models.embed_stream import embed_tokens, sentence_mean
from keras_elmo.models.sentences import read_tokens
from keras_elmo.process.signals import noting_signals

# Sentences of a shard: a killed run loses two shards at most, and libraries read a shard at once. A
# pooled sentence is one vector for each layer, others have one for each token and layer.
SHARD_SIZE = 1024
POOLED_SHARD_SIZE = 16384
_MAX_WAITING = 4  # jobs, each with a row group of about 32 MB at most: it bounds the memory
_logger = logging.getLogger(__name__)


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        rows: int. The sentences that have vectors, also those of earlier runs.
        total_rows: int. All sentences.
        shards: int. The shards that are in the folder.
        total_shards: int. All shards.
        new_rows: int. The sentences of this run that have vectors.
        new_tokens: int. Their tokens.
    """

    rows: int
    total_rows: int
    shards: int
    total_shards: int
    new_rows: int = 0
    new_tokens: int = 0


def embed_files(
    elmo,
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
):
    """Embeds the lines of text files, and writes a folder of Parquet files.

    The rows are the lines of all files in their order. Their columns: `id` (int64, from 0), `file`,
    `text`, `tokens`, and a column for each chosen layer: a list of vectors, one for each token, or
    one vector if they are pooled. Vectors are fixed-size lists.

    With `field` the files are JSON Lines, CSV or TSV, and the rows are their records. A text that
    is a list of tokens in JSON Lines is not split; `text` has spaces between them. `kept_NAME` is
    the column of a field that is kept. Those of CSV and TSV are strings. A field of JSON Lines is a
    column of strings, int64, float64 or bool if all its values are such (or null); else of strings
    that hold JSON.

    A file appears when it is whole. So the process may be killed at any time, and the same call
    resumes with the first missing file. It writes the same bytes as a run that was not stopped, on
    the same machine with the same versions. It checks the files that are there, and refuses a
    damaged one. `_manifest.json` records what made the vectors, and `"complete": true` when all are
    there. A call with another model, input or option changes nothing and raises an error.

    Args:
        elmo: an `Elmo`, without `keep_sentence_boundaries`.
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
        encoding: str. The encoding of the text files.
        errors: `"strict"` or `"replace"`: what to do with bytes that cannot be decoded.
        overwrite: bool. Remove the vectors of an earlier call, and begin anew.
        on_progress: function that is called with a `Progress`, from time to time.
        field: str. The field or column that is the text. `None`: each line is a text.
        keep: list of strings. The fields or columns that are stored, too.
        format: `"text"`, `"jsonl"`, `"csv"` or `"tsv"`. `None`: by the names of the files.

    Returns:
        The manifest, a dict, as `read_manifest` gives it.

    Raises:
        ImportError: pyarrow is not installed.
        ValueError: an argument is not as said above; the folder holds something else, or a damaged
            file; or a text file cannot be decoded, lacks a field, or changes while it is read.
        OSError: a file cannot be read or written, or another process writes into the folder.
        Interrupted: SIGINT or SIGTERM came. What is whole is kept.

    Example:

    >>> elmo = Elmo.from_pretrained("tiny")
    >>> manifest = embed_files(elmo, "corpus/*.txt", "vectors", layers=["elmo", -1])
    >>> manifest["rows"], list(manifest["layers"])
    (100000, ["elmo", "layer_2"])
    """
    shards.check_pyarrow()
    columns = shards.vector_columns(elmo.config, layers, elmo.num_mixes)
    shards.check_dtype(dtype)
    if shard_size is None:
        shard_size = POOLED_SHARD_SIZE if pooled else SHARD_SIZE
    check_integers(1, shard_size=shard_size)
    if token_budget is not None:
        check_integers(1, token_budget=token_budget)
    if errors not in ("strict", "replace"):
        raise ValueError(f'`errors` must be "strict" or "replace". Received: errors={errors!r}')
    if elmo.keep_sentence_boundaries:
        raise ValueError(
            "`elmo` must be a model without sentence boundaries in its outputs, so that each "
            "vector belongs to a token. Received: a model with keep_sentence_boundaries=True"
        )
    folder = os.fspath(folder)
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise NotADirectoryError(f"A folder must be named, not a file. Received: {folder}")
    fields = Fields(field, keep, format)
    files, types = scan_files(find_files(inputs), encoding, errors, fields)
    settings = {"field": field, "keep": types, "input_format": format}
    manifest = new_manifest(
        elmo,
        columns,
        files,
        dtype=dtype,
        pooled=bool(pooled),
        shard_size=int(shard_size),
        token_budget=None if token_budget is None else int(token_budget),
        encoding=encoding,
        errors=errors,
        **(settings if field is not None else {}),
    )
    with (
        noting_signals(),
        making_folder(folder),
        _cleared_folder(folder, manifest, overwrite) as earlier,
    ):
        manifest = {**manifest, **earlier}
        return _Run(elmo, columns, files, fields, folder, manifest, on_progress).finish()


@contextlib.contextmanager
def _cleared_folder(folder, manifest, overwrite):
    """Locks the folder and removes vectors to be overwritten. A refusal changes nothing.

    Yields:
        A dict with the versions and the shards that the manifest of an earlier run records.
    """
    _check_folder(folder, manifest, overwrite)
    with locked_folder(folder):
        old = _check_folder(folder, manifest, overwrite)  # it may have changed before the lock
        if old is None:
            write_manifest(folder, manifest)
        elif overwrite:
            # In this order: if it is interrupted, either command can be run again.
            write_manifest(folder, {**old, "complete": False, "shards": []})
            count = num_shards(old)
            for name in os.listdir(folder):
                if shards.is_shard_name(name, count):
                    os.remove(os.path.join(folder, name))
            write_manifest(folder, manifest)
        earlier = manifest if old is None or overwrite else old
        yield {name: earlier[name] for name in ("versions", "shards")}


def _check_folder(folder, manifest, overwrite):
    """The manifest of the folder, or `None` if the folder is empty.

    Raises:
        ValueError: the folder holds something else, or the vectors of another run.
    """
    if not os.path.exists(os.path.join(folder, MANIFEST)):
        others = [name for name in os.listdir(folder) if not name.endswith(".part")]
        if others:
            raise ValueError(
                f"{folder} must be an empty folder, or hold vectors of an earlier run. Received: a "
                f"folder with {sorted(others)[0]} and without {MANIFEST}"
            )
        return None
    old = read_manifest(folder)
    if not overwrite and fingerprint(old) != fingerprint(manifest):
        found = "; ".join(differences(old, manifest)) or "other settings"
        raise ValueError(
            f"{folder} must hold vectors of the same run; nothing was changed. Received: {found}. "
            "Name another folder, or replace the vectors with `overwrite`"
        )
    return old


class _Shard(NamedTuple):
    """The rows of one shard."""

    index: int
    first_id: int
    rows: list  # tuples: the path of the text file, the line, and the fields that are kept
    tokens: list  # of each line, a list of bytes


class _Run:
    """Writes the missing shards, and checks the others.

    Three threads work at once: one reads and tokenises the next shard, the caller's embeds, and one
    compresses and writes.
    """

    def __init__(self, elmo, columns, files, fields, folder, manifest, on_progress):
        self._elmo, self._columns = elmo, columns
        self._files, self._fields = files, fields
        self._manifest, self._folder = manifest, folder
        self._on_progress = on_progress or (lambda progress: None)
        self._names = shards.shard_names(num_shards(manifest))
        self._fingerprint = fingerprint(manifest)
        self._kept = manifest.get("keep", {})  # the types of the fields that are kept
        self._schema = shards.make_schema(
            columns, manifest["dtype"], manifest["pooled"], self._fingerprint, self._kept
        )
        self._written = {}  # by the index of a shard that is checked: its bytes and its digest
        self._is_there = [self._check_shard(index) for index in range(len(self._names))]
        rows = sum(shard_rows(manifest, k) for k, is_there in enumerate(self._is_there) if is_there)
        self._progress = Progress(rows, manifest["rows"], sum(self._is_there), len(self._names))

    def finish(self):
        """Writes the missing shards, and the manifest, which it returns."""
        self._on_progress(self._progress)
        if len(self._written) < len(self._names):
            if not all(self._is_there):
                self._record_versions()
            self._manifest.update(complete=False, shards=[])
            write_manifest(self._folder, self._manifest)
            self._write_shards()
        self._manifest["shards"] = [
            {**place_of_shard(self._manifest, index), **self._written[index]}
            for index in range(len(self._names))
        ]
        self._manifest["complete"] = True
        write_manifest(self._folder, self._manifest)
        return self._manifest

    def _record_versions(self):
        before, now = self._manifest["versions"], versions()
        if before[-1] != now:
            _logger.warning(
                "%s: other versions wrote the first vectors (%s), whose last digits may differ",
                self._folder,
                before[-1],
            )
            self._manifest["versions"] = [*before, now]

    def _path(self, index):
        return os.path.join(self._folder, self._names[index])

    def _check_shard(self, index):
        """Whether a shard is there. If it is, its digest and its rows are checked."""
        path = self._path(index)
        if not os.path.exists(path):
            return False
        recorded = self._manifest["shards"]
        entry = recorded[index] if recorded else place_of_shard(self._manifest, index)
        shards.check_shard(path, self._fingerprint, entry)
        if "sha256" in entry:
            self._written[index] = {name: entry[name] for name in ("bytes", "sha256")}
        return True

    def _read_shards(self):
        """Yields the missing shards as `_Shard`s.

        Of the others, those without a digest in the manifest are compared with the input.
        """
        encoding, errors = self._manifest["encoding"], self._manifest["errors"]
        found = read_files(self._files, encoding, errors, self._fields, self._kept)
        for index in range(len(self._names)):
            pairs = list(itertools.islice(found, shard_rows(self._manifest, index)))
            rows = [row for _, row in pairs]
            first_id = index * self._manifest["shard_size"]
            if not self._is_there[index]:
                texts = (record.text for record, _ in pairs)
                tokens = list(read_tokens(self._elmo.tokenizer, texts, self._elmo.max_tokens))
                yield _Shard(index, first_id, rows, tokens)
            elif index not in self._written:
                path = self._path(index)
                shards.check_content(path, self._schema, first_id, rows)
                self._written[index] = {
                    "bytes": os.path.getsize(path),
                    "sha256": sha256_of(path),
                }
        collections.deque(found, maxlen=0)  # A file that has changed is found at its end.

    def _write_shards(self):
        found = self._read_shards()
        reading = ThreadPoolExecutor(1, "keras_elmo.reading")
        try:
            with _ShardPipeline(self._schema, self._manifest["dtype"], self._record) as pipeline:
                following = reading.submit(next, found, None)
                while (shard := following.result()) is not None:
                    following = reading.submit(next, found, None)
                    pipeline.open(self._path(shard.index))
                    for rows in shards.row_groups(self._embed(shard)):
                        pipeline.write(rows)
                    pipeline.close(shard.index, len(shard.rows))
        finally:
            reading.shutdown(cancel_futures=True)
            found.close()

    def _record(self, index, written):
        """Records that a shard is in the folder."""
        self._written[index] = written
        self._advance(num_shards=1)

    def _embed(self, shard):
        """The rows of a shard, as `make_table` takes them."""
        results = embed_tokens(
            self._elmo,
            shard.tokens,
            [column.choice for column in self._columns],
            self._manifest["token_budget"],
            self._advance,
        )
        numbered = enumerate(zip(shard.rows, shard.tokens, results, strict=True), shard.first_id)
        for index, (row, tokens, result) in numbered:
            arrays = [result[column.choice] for column in self._columns]
            if self._manifest["pooled"]:
                arrays = [sentence_mean(array) for array in arrays]
            yield index, *row, tokens, arrays

    def _advance(self, rows=0, tokens=0, num_shards=0):
        before = self._progress
        self._progress = before._replace(
            rows=before.rows + rows,
            shards=before.shards + num_shards,
            new_rows=before.new_rows + rows,
            new_tokens=before.new_tokens + tokens,
        )
        self._on_progress(self._progress)


class _ShardPipeline:
    """Writes one shard after the other, in a thread of its own.

    Every step of a `ShardWriter` runs in that thread, also `abort`. A `with` statement waits until
    all shards are written; after an error it aborts the incomplete shard.

    Args:
        schema, dtype: see `make_table`.
        on_shard: function that is called in the caller's thread, with the index of each complete
            shard and what `ShardWriter.close` returned.
    """

    def __init__(self, schema, dtype, on_shard):
        self._schema, self._dtype, self._on_shard = schema, dtype, on_shard
        self._thread = ThreadPoolExecutor(1, "keras_elmo.writing")
        self._jobs = collections.deque()  # futures
        self._is_stopped = False  # After an error, the queued jobs are skipped.
        self._writer = None  # of the open shard; only the thread uses it

    def open(self, path):
        self._submit(self._open, path)

    def write(self, rows):
        self._submit(self._write, rows)

    def close(self, index, num_rows):
        self._submit(self._close, index, num_rows)

    def drain(self):
        """Waits until all jobs are done."""
        while self._jobs:
            self._take()

    def abort(self):
        """Aborts the incomplete shard, if there is one, and ends the thread."""
        self._is_stopped = True
        self._thread.submit(self._abort)
        self._thread.shutdown()

    def __enter__(self):
        return self

    def __exit__(self, error, *_):
        try:
            if error is None:
                self.drain()
        finally:
            self.abort()

    def _submit(self, job, *args):
        self._jobs.append(self._thread.submit(self._run, job, *args))
        while len(self._jobs) > _MAX_WAITING or (self._jobs and self._jobs[0].done()):
            self._take()

    def _take(self):
        finished = self._jobs.popleft().result()  # raises the error of the job
        if finished is not None:
            self._on_shard(*finished)

    def _run(self, job, *args):
        if self._is_stopped:
            return None
        try:
            return job(*args)
        except BaseException:
            self._is_stopped = True
            raise

    def _open(self, path):
        self._writer = shards.ShardWriter(path, self._schema)
        self._writer.open()

    def _write(self, rows):
        self._writer.write(shards.make_table(rows, self._schema, self._dtype))

    def _close(self, index, num_rows):
        written = self._writer.close(num_rows)
        self._writer = None
        return index, written

    def _abort(self):
        if self._writer is not None:
            self._writer.abort()
