"""`embed_files`: text files to a folder of vectors, in a run that can be stopped at any time."""

import collections
import contextlib
import itertools
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from keras_elmo.checks import check_integers, shown
from keras_elmo.features import shards
from keras_elmo.features.arrow import check_pyarrow
from keras_elmo.features.columns import vector_columns
from keras_elmo.features.inputs import find_files, read_files, scan_files
from keras_elmo.features.manifest import (
    MANIFEST,
    differences,
    fingerprint,
    new_manifest,
    read_manifest,
    versions,
    write_manifest,
)
from keras_elmo.files import locked_folder, making_folder
from keras_elmo.models.embed_stream import embed_tokens
from keras_elmo.models.sentences import read_tokens

DTYPES = ("float32", "float16")
# Sentences of a shard: a killed run loses two at most, and a library opens one at once. A pooled
# sentence is one vector, where another is one for each token and layer.
SHARD_SIZE = 1024
POOLED_SHARD_SIZE = 16384
_MOST_WAITING = 4  # row groups that wait for the disk, which bounds the memory that they take
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
):
    """Embeds the lines of text files, and writes a folder of Parquet files.

    The rows are the lines of all files in their order. Their columns: `id` (int64, from 0), `file`,
    `text`, `tokens`, and a column for each chosen layer: a list of vectors, one for each token, or
    one vector where they are pooled. Vectors are fixed-size lists.

    A file appears when it is whole. So the process may be killed at any time, and the same call
    goes on with the first file that is missing. It writes the same bytes as a run that was not
    stopped, on the same machine with the same versions. `_manifest.json` says what made the
    vectors; a call with another model, input or option changes nothing and raises an error.

    Args:
        elmo: an `Elmo`, without `keep_sentence_boundaries`.
        inputs: path of a text file, one sentence a line, or a list of paths and patterns such as
            `"corpus/*.txt"`. `*.gz` is decompressed.
        folder: the folder to write. It must not exist, be empty, or be that of an earlier call.
        layers: what `Elmo.embed` takes, but not `"default"`. `"all"` is a column for each layer:
            `layer_0`, `layer_1`, ...
        pooled: bool. The mean of each layer over the tokens of a sentence (zeros where it has
            none), instead of one vector for each token.
        dtype: `"float32"` or `"float16"`, of the vectors in the files.
        shard_size: int. Sentences of a file. `None`: 1,024, or 16,384 where they are pooled.
        token_budget: int or `None`, see `Elmo.embed`.
        encoding: str. The encoding of the text files.
        errors: `"strict"` or `"replace"`: what to do with bytes that cannot be decoded.
        overwrite: bool. Remove the vectors of an earlier call, and begin anew.
        on_progress: function that is called with a `Progress`, from time to time.

    Returns:
        The manifest, a dict, as `read_manifest` gives it.

    Raises:
        ImportError: pyarrow is not installed.
        ValueError: an argument is not as said above; the folder holds something else; or a file
            cannot be decoded, or changes while it is read.
        OSError: a file cannot be read or written, or another process writes into the folder.

    Example:

    >>> elmo = Elmo.from_pretrained("tiny")
    >>> manifest = embed_files(elmo, "corpus/*.txt", "vectors", layers=["elmo", -1])
    >>> manifest["rows"], list(manifest["layers"])
    (100000, ["elmo", "layer_2"])
    """
    check_pyarrow()
    columns = vector_columns(elmo.config, layers, elmo.num_mixes)
    if dtype not in DTYPES:
        raise ValueError(f"`dtype` must be one of {DTYPES}. Received: dtype={shown(dtype)}")
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
    files = scan_files(find_files(inputs), encoding, errors)
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
    )
    with making_folder(folder), _cleared_folder(folder, manifest, overwrite) as earlier:
        manifest = {**manifest, "versions": earlier}
        return _Run(elmo, columns, files, folder, manifest, on_progress).finish()


@contextlib.contextmanager
def _cleared_folder(folder, manifest, overwrite):
    """Locks the folder if the run may write there. Yields the versions that wrote there before.

    Nothing is changed where the folder is refused.
    """
    _check_folder(folder, manifest, overwrite)
    with locked_folder(folder):
        old = _check_folder(folder, manifest, overwrite)  # it may have changed before the lock
        if old is None:
            write_manifest(folder, manifest)
        elif overwrite:
            # In this order, so that whoever stops this can repeat the old or the new command.
            write_manifest(folder, {**old, "complete": False, "shards": []})
            for name in os.listdir(folder):
                if name in shards.shard_names(_num_shards(old)):
                    os.remove(os.path.join(folder, name))
            write_manifest(folder, manifest)
        yield manifest["versions"] if old is None or overwrite else old["versions"]


def _check_folder(folder, manifest, overwrite):
    """The manifest that is in the folder, or `None`.

    Raises:
        ValueError: the folder holds something else, or vectors that are not those of the run.
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
        raise ValueError(
            f"{folder} holds vectors of another run, and nothing was changed. Received: "
            f"{'; '.join(differences(old, manifest))}. Name another folder, or replace the "
            "vectors with `overwrite`"
        )
    return old


def _num_shards(manifest):
    """The number of shards; an input without lines has one, which holds the schema."""
    return max(1, -(-manifest["rows"] // manifest["shard_size"]))


class _Shard(NamedTuple):
    """The rows of one shard."""

    path: str
    first_id: int
    rows: list  # pairs: the path of the text file, and the line
    tokens: list  # of each line, a list of bytes


class _Run:
    """Writes the shards that are missing.

    Three things go on at once: one thread reads and tokenises the next shard, the caller's thread
    embeds, and one thread compresses and writes what is embedded.
    """

    def __init__(self, elmo, columns, files, folder, manifest, on_progress):
        self._elmo, self._columns, self._files = elmo, columns, files
        self._manifest, self._folder = manifest, folder
        self._on_progress = on_progress or (lambda progress: None)
        self._has_failed = False
        self._names = shards.shard_names(_num_shards(manifest))
        self._schema = shards.make_schema(
            columns, manifest["dtype"], manifest["pooled"], fingerprint(manifest)
        )
        self._is_there = [self._check_shard(index) for index in range(len(self._names))]
        rows = sum(self._num_rows(k) for k, is_there in enumerate(self._is_there) if is_there)
        self._progress = Progress(rows, manifest["rows"], sum(self._is_there), len(self._names))

    def finish(self):
        """Writes the missing shards and the manifest, which is returned."""
        self._on_progress(self._progress)
        if not all(self._is_there):
            self._note_versions()
            write_manifest(self._folder, self._manifest)
            self._write_shards()
        names = enumerate(self._names)
        self._manifest["shards"] = [
            {
                "file": name,
                "first_id": index * self._manifest["shard_size"],
                "rows": self._num_rows(index),
                "bytes": os.path.getsize(os.path.join(self._folder, name)),
            }
            for index, name in names
        ]
        self._manifest["complete"] = True
        write_manifest(self._folder, self._manifest)
        return self._manifest

    def _note_versions(self):
        before, now = self._manifest["versions"], versions()
        if before[-1] != now:
            _logger.warning(
                "%s: other versions wrote the first vectors (%s), and the last digits of the "
                "others may differ from theirs",
                self._folder,
                before[-1],
            )
            self._manifest["versions"] = [*before, now]

    def _num_rows(self, index):
        """The number of rows that a shard has."""
        size = self._manifest["shard_size"]
        return min(size, self._manifest["rows"] - index * size)

    def _check_shard(self, index):
        """Whether a shard is there, and what it must be."""
        path = os.path.join(self._folder, self._names[index])
        if not os.path.exists(path):
            return False
        rows = shards.num_rows(path, fingerprint(self._manifest))
        if rows != self._num_rows(index):
            raise ValueError(
                f"{path} must have {self._num_rows(index):,} rows; remove it, and run the same "
                f"command again. Received: {rows:,} rows"
            )
        return True

    def _read_shards(self):
        """The shards that are missing, one after the other, as `_Shard`s."""
        settings = self._manifest["encoding"], self._manifest["errors"]
        lines = read_files(self._files, *settings)
        for index, name in enumerate(self._names):
            count = self._num_rows(index)
            if self._is_there[index]:
                collections.deque(itertools.islice(lines, count), maxlen=0)  # passes over them
                continue
            rows = list(itertools.islice(lines, count))
            texts = (text for _, text in rows)
            tokens = list(read_tokens(self._elmo.tokenizer, texts, self._elmo.max_tokens))
            path = os.path.join(self._folder, name)
            yield _Shard(path, index * self._manifest["shard_size"], rows, tokens)
        collections.deque(lines, maxlen=0)  # a file that has changed is found at its end

    def _write_shards(self):
        reading = ThreadPoolExecutor(1, "keras_elmo.reading")
        writing = ThreadPoolExecutor(1, "keras_elmo.writing")
        written = collections.deque()  # of each waiting job its future, and whether it ends a shard
        writers = collections.deque(maxlen=2)  # an earlier shard is closed before the next is open
        found = self._read_shards()

        def submit(job, *args, ends_shard=False):
            written.append((writing.submit(self._unless_failed, job, *args), ends_shard))
            while len(written) > _MOST_WAITING or (written and written[0][0].done()):
                take()

        def take():
            future, ends_shard = written.popleft()
            future.result()  # raises the error of the job
            if ends_shard:
                self._advance(shards=1)

        try:
            following = reading.submit(next, found, None)
            while (shard := following.result()) is not None:
                following = reading.submit(next, found, None)
                writer = shards.ShardWriter(shard.path, self._schema)
                writers.append(writer)
                submit(writer.open)
                for rows in shards.row_groups(self._embed(shard)):
                    submit(self._write_rows, writer, rows)
                submit(writer.close, len(shard.rows), ends_shard=True)
            while written:
                take()
        finally:
            reading.shutdown(cancel_futures=True)
            writing.shutdown(cancel_futures=True)
            for writer in writers:
                writer.abort()

    def _unless_failed(self, job, *args):
        """Runs a job of the writing thread. After one has failed, those that wait do nothing."""
        if self._has_failed:
            return
        self._has_failed = True
        job(*args)
        self._has_failed = False

    def _write_rows(self, writer, rows):
        writer.write(shards.make_table(rows, self._schema, self._manifest["dtype"]))

    def _embed(self, shard):
        """The rows of a shard, as `make_table` takes them."""
        results = embed_tokens(
            self._elmo,
            shard.tokens,
            [column.choice for column in self._columns],
            self._manifest["token_budget"],
            lambda rows, tokens: self._advance(rows=rows, tokens=tokens),
        )
        numbered = enumerate(zip(shard.rows, shard.tokens, results, strict=True), shard.first_id)
        for index, ((file, text), tokens, result) in numbered:
            arrays = [result[column.choice] for column in self._columns]
            if self._manifest["pooled"]:
                arrays = [array.sum(axis=0) / max(len(array), 1) for array in arrays]
            yield index, file, text, tokens, arrays

    def _advance(self, rows=0, tokens=0, shards=0):
        before = self._progress
        self._progress = before._replace(
            rows=before.rows + rows,
            shards=before.shards + shards,
            new_rows=before.new_rows + rows,
            new_tokens=before.new_tokens + tokens,
        )
        self._on_progress(self._progress)
