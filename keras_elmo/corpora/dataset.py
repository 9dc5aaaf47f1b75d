"""`dataset`: batches of vectors from the files of `keras-elmo embed`, for training on them."""

import contextlib
import os

import numpy as np
import tensorflow as tf

from keras_elmo.checks import check_integers, is_integer, short_repr
from keras_elmo.corpora import shards
from keras_elmo.corpora.embedding_files import read_embeddings
from keras_elmo.corpora.manifest import fingerprint, read_manifest
from keras_elmo.generator_dataset import dataset_from_generator
from keras_elmo.models.sentences import within_budget

# The sentences that are in memory and are sorted by length together end at the first of these.
WINDOW = 512  # sentences: 16 batches of 32, so that a batch has little padding
WINDOW_BYTES = 2**28  # of vectors
_VECTORS = "vectors"  # the name of the vectors in a file of one array for each sentence


def dataset(path, columns=None, batch_size=32, max_tokens=None, shuffle=False, seed=None):
    """Reads the vectors of `keras-elmo embed` as a `tf.data.Dataset` of batches.

    Sentences of like length are in one batch: 512 sentences at a time, or 256 MB of vectors, are
    read and sorted. So the memory does not grow with the files. A batch is a dict:

    - `"id"`: int64, (batch,). The number of the sentence: the column `id`, or its line.
    - `"mask"`: bool, (batch, tokens). Left out if there is one vector for each sentence.
    - each layer by its name: (batch, tokens, D), zero where the mask is `False`, or (batch, D). The
      dtype is that of the file. In HDF5 and npz files a single layer is called `"vectors"`, and
      all layers are `"layer_0"`, `"layer_1"`, ...

    Args:
        path: a folder of `keras-elmo embed-corpus`, or an HDF5 or npz file of `keras-elmo
            embed`, bilm-tf or AllenNLP.
        columns: list of the names of layers. `None`: all.
        batch_size: int or `None`. Sentences of a batch, at most.
        max_tokens: int or `None`. Tokens of a batch, at most; a longer sentence is a batch by
            itself.
        shuffle: bool. Take the shards in random order, and mix what is read of each and the
            batches. Each iteration has another order.
        seed: int or `None`. The random order of the first iteration, and so of all.

    Returns:
        A `tf.data.Dataset`. Its cardinality is not known before it is read.

    Raises:
        FileNotFoundError: there is no such file or folder.
        ValueError: the folder is not complete, a column is missing, or an argument is not as said
            above.

    Example:

    >>> batches = dataset("vectors", columns=["layer_1"], max_tokens=4096, shuffle=True)
    >>> for batch in batches.map(lambda batch: (batch["layer_1"], labels(batch["id"]))):
    """
    if batch_size is None and max_tokens is None:
        raise ValueError(
            "`batch_size` or `max_tokens` must be given. Received: batch_size=None and "
            "max_tokens=None"
        )
    bounds = {"batch_size": batch_size, "max_tokens": max_tokens}
    check_integers(1, **{name: bound for name, bound in bounds.items() if bound is not None})
    if seed is not None and not is_integer(seed):
        raise ValueError(f"`seed` must be an integer or None. Received: seed={short_repr(seed)}")
    path = os.fspath(path)
    source = _Folder(path) if os.path.isdir(path) else _File(path)
    chosen = list(source.columns) if columns is None else list(columns)
    missing = [name for name in chosen if name not in source.columns]
    if missing or not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(
            f"`columns` must be a list of layers of {path}, each once; there are "
            f"{', '.join(source.columns)}. Received: columns={short_repr(columns)}"
        )
    batches = _Batches(source, chosen, batch_size, max_tokens, shuffle, seed)
    return dataset_from_generator(batches, batches.signature)


class _Folder:
    """The shards of a folder.

    Attributes:
        columns: dict: by the name of a layer, the rank of a sentence's array, its dtype and the
            size of a vector.
        shards: list. They can be read in any order.
    """

    def __init__(self, path):
        shards.check_pyarrow()
        manifest = read_manifest(path)
        if not manifest["complete"]:
            raise ValueError(
                f"{path} must hold the vectors of all sentences; run the command that wrote it "
                'again, which resumes. Received: a manifest with "complete": false'
            )
        rank = 1 if manifest["pooled"] else 2
        self.columns = {
            name: (rank, manifest["dtype"], size) for name, size in manifest["layers"].items()
        }
        self.shards = [
            {**shard, "path": os.path.join(path, shard["file"])} for shard in manifest["shards"]
        ]
        self._fingerprint = fingerprint(manifest)
        self._checked = set()  # paths of shards
        for shard in self.shards:
            shards.check_size(shard["path"], shard["bytes"])

    def open(self):
        """A context that gives the first argument of `parts` and `read`."""
        return contextlib.nullcontext()

    def parts(self, _, shard):
        """The parts of a shard that are read at once: a list. First every byte is checked, once."""
        path = shard["path"]
        if path not in self._checked:
            shards.check_shard(path, self._fingerprint, shard)
            self._checked.add(path)
        with shards.open_shard(path) as file:
            return [(path, group) for group in range(file.num_row_groups)]

    def read(self, _, part, names):
        """The sentences of a part, a list of pairs: the id, and a list of arrays."""
        path, group = part
        table = shards.read_group(path, group, ["id", *names])
        columns = [self._arrays(table, name) for name in names]
        return list(zip(table["id"].to_pylist(), zip(*columns, strict=True), strict=True))

    def _arrays(self, table, name):
        rank, _, size = self.columns[name]
        column = table[name].combine_chunks()
        if rank == 1:
            return list(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, size))
        vectors = column.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
        return np.split(vectors, column.offsets.to_numpy()[1:-1] - column.offsets[0].as_py())


class _File:
    """A file of one array for each sentence; see `_Folder`."""

    def __init__(self, path):
        self._path = path
        with read_embeddings(path) as vectors:
            count = len(vectors)
            if not count:
                raise ValueError(f"{path} must hold a sentence. Received: an empty file")
            first = vectors[0]
        self._has_layers = first.ndim == 3
        self._names = [f"layer_{k}" for k in range(len(first))] if self._has_layers else [_VECTORS]
        column = 1 if first.ndim == 1 else 2, first.dtype.name, first.shape[-1]
        self.columns = dict.fromkeys(self._names, column)
        self.shards = list(range(0, count, WINDOW))

    def open(self):
        return read_embeddings(self._path)

    def parts(self, vectors, shard):
        end, step = min(len(vectors), shard + WINDOW), shards.ROWS_PER_GROUP
        return [range(start, min(end, start + step)) for start in range(shard, end, step)]

    def read(self, vectors, part, names):
        sentences = []
        for index in part:
            array = vectors[index]
            layers = array if self._has_layers else [array]
            sentences.append((index, [layers[self._names.index(name)] for name in names]))
        return sentences


class _Batches:
    """A function that generates the batches of a source."""

    def __init__(self, source, names, batch_size, max_tokens, shuffle, seed):
        self._source, self._names = source, names
        self._batch_size, self._max_tokens = batch_size, max_tokens
        self._shuffle, self._seeds = shuffle, np.random.SeedSequence(seed)
        ranks = [source.columns[name][0] for name in names]
        self._is_pooled = ranks[0] == 1  # all of a source are alike
        self.signature = {"id": tf.TensorSpec([None], tf.int64)}
        if not self._is_pooled:
            self.signature["mask"] = tf.TensorSpec([None, None], tf.bool)
        for name in names:
            rank, dtype, size = source.columns[name]
            self.signature[name] = tf.TensorSpec([None] * rank + [size], dtype)

    def __call__(self):
        # Each iteration has its own order, also if there are two at the same time.
        random = np.random.default_rng(self._seeds.spawn(1)[0])
        shuffle = random.shuffle if self._shuffle else lambda values: None
        for window in self._windows(shuffle):
            lengths = [self._length(sentence) for sentence in window]
            rows = sorted(range(len(window)), key=lengths.__getitem__)
            batches = list(self._split(rows, window))
            shuffle(batches)
            for batch in batches:
                yield self._pad([window[row] for row in batch])
            del window  # before the next is read

    def _windows(self, shuffle):
        """Lists of sentences that are sorted together; see `WINDOW` and `WINDOW_BYTES`."""
        source, window, size = self._source, [], 0
        shards = list(source.shards)
        shuffle(shards)
        with source.open() as opened:
            for shard in shards:
                parts = source.parts(opened, shard)
                shuffle(parts)
                for part in parts:
                    sentences = source.read(opened, part, self._names)
                    window += sentences
                    size += sum(array.nbytes for _, arrays in sentences for array in arrays)
                    if len(window) >= WINDOW or size >= WINDOW_BYTES:
                        del sentences
                        yield window
                        window, size = [], 0
        if window:
            yield window

    def _length(self, sentence):
        return 1 if self._is_pooled else len(sentence[1][0])

    def _split(self, rows, window):
        """Rows in batches of at most `batch_size` sentences and `max_tokens` tokens."""
        size = len(rows) if self._batch_size is None else self._batch_size
        if self._max_tokens is None:
            groups = [rows]
        else:
            groups = within_budget(rows, lambda row: self._length(window[row]), self._max_tokens)
        for group in groups:
            yield from (group[start : start + size] for start in range(0, len(group), size))

    def _pad(self, sentences):
        """One batch, a dict."""
        ids, arrays = zip(*sentences, strict=True)
        batch = {"id": np.array(ids, np.int64)}
        lengths = np.array([self._length(sentence) for sentence in sentences])
        width = max(1, lengths.max())  # Keras's recurrent layers fail if there is no token.
        if not self._is_pooled:
            batch["mask"] = np.arange(width)[None] < lengths[:, None]
        for name, column in zip(self._names, zip(*arrays, strict=True), strict=True):
            _, dtype, size = self._source.columns[name]
            if self._is_pooled:
                batch[name] = np.stack(column).astype(dtype, copy=False)
                continue
            batch[name] = np.zeros((len(column), width, size), dtype)
            batch[name][batch["mask"]] = np.concatenate(column)
        return batch
