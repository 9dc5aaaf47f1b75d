"""`VectorDataset`: batches of vectors from the files of `keras-elmo embed`, for training."""

import os
import threading

import keras
import numpy as np

from keras_elmo.checks import check_counts, check_library, short_repr
from keras_elmo.corpora import shards
from keras_elmo.corpora.manifest import read_manifest
from keras_elmo.models.embed_stream import within_budget
from keras_elmo.weights.embedding_files import read_embeddings

# The sentences that are in memory and are sorted by length together end at the first of these.
WINDOW = 512  # sentences: 16 batches of 32, so that a batch has little padding
WINDOW_BYTES = 2**28  # of vectors
_VECTORS = "vectors"  # the name of the vectors in a file of one array for each sentence


class VectorDataset(keras.utils.PyDataset):
    """Reads the vectors of `keras-elmo embed` in batches, which `fit` and `predict` take.

    Sentences of like length are in one batch: 512 sentences at a time, or 256 MB of vectors, are
    read and sorted. So the memory does not grow with the vectors. A batch is a dict of arrays:

    - `"id"`: int64, (batch,). The number of the sentence: the column `id`, or its line.
    - `"mask"`: bool, (batch, tokens). Left out if there is one vector for each sentence.
    - each layer by its name: (batch, tokens, D), zero where the mask is `False`, or (batch, D). The
      dtype is that of the file. In HDF5 and npz files a single layer is called `"vectors"`, and
      all layers are `"layer_0"`, `"layer_1"`, ...

    With `labels` a batch is a pair: the dict without `"id"`, and an array of the labels.

    Pass `shuffle=False` to `fit`: in another order, every batch reads its 512 sentences anew.

    Args:
        path: a folder of `keras-elmo embed-corpus`, or an HDF5 or npz file of `keras-elmo
            embed`, bilm-tf or AllenNLP.
        columns: list of the names of layers. `None`: all.
        labels: the labels by the ids: an array, a list or a dict. `None`: without labels.
        batch_size: int or `None`. Sentences of a batch, at most.
        max_tokens: int or `None`. Tokens of a batch, at most; a longer sentence is alone in one.
        shuffle: bool. Mix the shards, what is read of each, and the batches, anew in each epoch.
        seed: int or `None`. Makes the same random orders each time.
        **kwargs: `workers` and the other arguments of `keras.utils.PyDataset`.

    Raises:
        FileNotFoundError: there is no such file or folder.
        ValueError: the folder is not complete, a column is missing, an argument is not as said
            above, or a shard is damaged, whose SHA-256 is checked when a batch first needs it.

    Example:

    >>> batches = VectorDataset("vectors", ["layer_1"], labels=labels, shuffle=True)
    >>> model.fit(batches, shuffle=False, epochs=3)
    """

    def __init__(
        self,
        path,
        columns=None,
        labels=None,
        batch_size=32,
        max_tokens=None,
        shuffle=False,
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        if batch_size is None and max_tokens is None:
            raise ValueError("`batch_size` or `max_tokens` must be given. Received: None for both")
        check_counts(batch_size=batch_size, max_tokens=max_tokens)
        path = os.fspath(path)
        self._source = _Folder(path) if os.path.isdir(path) else _File(path)
        self._names = list(self._source.sizes) if columns is None else list(columns)
        missing = [name for name in self._names if name not in self._source.sizes]
        if missing or not self._names or len(set(self._names)) < len(self._names):
            raise ValueError(
                f"`columns` must be a list of layers of {path}, each once; there are "
                f"{', '.join(self._source.sizes)}. Received: columns={short_repr(columns)}"
            )
        self._labels, self._batch_size, self._max_tokens = labels, batch_size, max_tokens
        self._shuffle, self._random = shuffle, np.random.default_rng(seed)
        self._lock, self._read = threading.Lock(), (None, None)
        self._batches = self._plan()

    def __len__(self):
        return len(self._batches)

    def __getitem__(self, index):
        window, rows = self._batches[index]
        with self._lock:  # Workers wait for the window that they have in common.
            if self._read[0] is not window:
                self._read = None, None  # before the next is read
                self._read = window, self._source.read(window, self._names)
            sentences = [self._read[1][row] for row in rows]
        ids = np.array([number for number, _ in sentences], np.int64)
        batch = self._pad([arrays for _, arrays in sentences])
        if self._labels is None:
            return {"id": ids, **batch}
        return batch, np.array([self._labels[number] for number in ids.tolist()])

    def on_epoch_end(self):
        if self._shuffle:
            self._batches = self._plan()

    def close(self):
        """Closes the file of vectors, after which no batch can be read. A folder has none open."""
        self._source.close()

    def _plan(self):
        """The batches of an epoch: pairs of a window, a list of parts, and rows of it."""
        shuffle = self._random.shuffle if self._shuffle else lambda values: None
        plan, all_shards = [], list(map(list, self._source.shards))
        shuffle(all_shards)
        for parts in all_shards:
            shuffle(parts)
        for window in self._windows(part for parts in all_shards for part in parts):
            lengths = np.concatenate([lengths for _, lengths in window])
            batches = list(self._split(np.argsort(lengths, kind="stable"), lengths))
            shuffle(batches)
            plan += [(window, batch) for batch in batches]
        return plan

    def _windows(self, parts):
        """Lists of parts whose sentences are sorted together."""
        vector = sum(self._source.sizes[name] for name in self._names) * self._source.dtype.itemsize
        sized = ((part, len(part[1]), part[1].sum() * vector) for part in parts)
        return shards.grouped(sized, WINDOW, WINDOW_BYTES)

    def _split(self, rows, lengths):
        """Rows in batches of at most `batch_size` sentences and `max_tokens` tokens."""
        size = len(rows) if self._batch_size is None else self._batch_size
        groups = [rows]
        if self._max_tokens is not None:
            groups = within_budget(rows, lengths.__getitem__, self._max_tokens)
        for group in groups:
            yield from (group[start : start + size] for start in range(0, len(group), size))

    def _pad(self, sentences):
        """The mask and the vectors of a batch; a sentence is a list of an array for each layer."""
        columns = dict(zip(self._names, zip(*sentences, strict=True), strict=True))
        if self._source.is_pooled:
            return {name: np.stack(arrays) for name, arrays in columns.items()}
        lengths = np.array([len(arrays[0]) for arrays in sentences])
        width = max(1, lengths.max())  # Keras's recurrent layers fail if there is no token.
        mask = np.arange(width)[None] < lengths[:, None]  # (batch, tokens)
        batch = {"mask": mask}
        for name, arrays in columns.items():
            shape = *mask.shape, self._source.sizes[name]
            batch[name] = np.zeros(shape, self._source.dtype)  # (batch, tokens, D)
            batch[name][mask] = np.concatenate(arrays)
        return batch


class _Folder:
    """The shards of a folder, lists of parts, and the sizes of the vectors by their layers.

    A part, whose sentences are read at once, is a pair: where it is, and the lengths of its
    sentences, an int array: their tokens, or 1 where each is one vector.
    """

    def __init__(self, path):
        check_library("pyarrow.parquet", "pyarrow", "corpora")
        manifest = read_manifest(path)
        if not manifest["complete"]:
            raise ValueError(
                f"{path} must hold the vectors of all sentences; run the command that wrote it "
                'again, which resumes. Received: a manifest with "complete": false'
            )
        self.sizes, self.is_pooled = manifest["layers"], manifest["pooled"]
        self.dtype = np.dtype(manifest["dtype"])
        self._path, self._checked, self.shards = path, set(), []
        for shard in manifest["shards"]:
            shards.check_shard(path, shard)
            groups = enumerate(shards.group_lengths(path, shard, self.is_pooled))
            self.shards.append([((shard, group), lengths) for group, lengths in groups])

    def close(self):
        pass  # Each file is closed when a group of it is read.

    def read(self, window, names):
        """The sentences of a list of parts, pairs: the id, and an array for each of the layers."""
        sentences = []
        for (shard, group), _ in window:
            if shard["file"] not in self._checked:
                shards.check_shard(self._path, shard, with_digest=True)
                self._checked.add(shard["file"])
            table = shards.read_group(self._path, shard, group, ["id", *names])
            columns = [self._arrays(table[name].combine_chunks(), name) for name in names]
            sentences += zip(table["id"].to_pylist(), zip(*columns, strict=True), strict=True)
        return sentences

    def _arrays(self, column, name):
        size = self.sizes[name]
        if self.is_pooled:
            return list(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, size))
        vectors = column.flatten().flatten().to_numpy(zero_copy_only=False).reshape(-1, size)
        return np.split(vectors, column.offsets.to_numpy()[1:-1] - column.offsets[0].as_py())


class _File:
    """A file of one array for each sentence; see `_Folder`. It is read once to find the lengths."""

    def __init__(self, path):
        self._vectors = read_embeddings(path)
        count = len(self._vectors)
        if not count:
            self.close()
            raise ValueError(f"{path} must hold a sentence. Received: an empty file")
        first = self._vectors[0]
        self._has_layers, self.is_pooled = first.ndim == 3, first.ndim == 1
        names = [f"layer_{k}" for k in range(len(first))] if self._has_layers else [_VECTORS]
        self.sizes, self.dtype = dict.fromkeys(names, first.shape[-1]), first.dtype
        if self.is_pooled:
            lengths = np.ones(count, np.int64)
        else:
            lengths = np.array([array.shape[-2] for array in self._vectors])
        step = shards.ROWS_PER_GROUP
        parts = [(start, lengths[start : start + step]) for start in range(0, count, step)]
        step = max(1, WINDOW // step)
        self.shards = [parts[start : start + step] for start in range(0, len(parts), step)]

    def close(self):
        self._vectors.close()

    def read(self, window, names):
        layers, sentences = [list(self.sizes).index(name) for name in names], []
        for number in (start + row for start, lengths in window for row in range(len(lengths))):
            array = self._vectors[number]
            array = array if self._has_layers else [array]
            sentences.append((number, [array[layer] for layer in layers]))
        return sentences
